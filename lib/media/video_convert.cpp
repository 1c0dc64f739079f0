#include "media/video_convert.h"

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include <cstring>
#include <string>

#include "core/error.h"
#include "media/pixels.h"

namespace vtower {
namespace {

[[noreturn]] void fail(const AVFrame& source) {
  const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(source.format));
  throw Error(ErrorKind::unsupported, "video_convert",
              "frames of pixel format " + std::string(name != nullptr ? name : "?") +
                  " cannot be converted to RGB");
}

bool is_bgr(Profile profile) {
  return profile == Profile::vllm;
}

AVPixelFormat target_format(Profile profile) {
  return is_bgr(profile) ? AV_PIX_FMT_BGR24 : AV_PIX_FMT_RGB24;
}

// The planes of colour of a format whose alpha is a plane of its own.
AVPixelFormat without_alpha(AVPixelFormat format) {
  switch (format) {
    case AV_PIX_FMT_YUVA420P: return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVA422P: return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVA444P: return AV_PIX_FMT_YUV444P;
    default: return format;
  }
}

bool is_full_range_format(AVPixelFormat format) {
  return format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P ||
         format == AV_PIX_FMT_YUVJ444P || format == AV_PIX_FMT_YUVJ440P ||
         format == AV_PIX_FMT_YUVJ411P;
}

struct ChromaPosition {
  int horizontal = 0;  // in 1/256 of the distance between luma samples
  int vertical = 128;
};

ChromaPosition position_of(AVChromaLocation location) {
  ChromaPosition position;
  switch (location) {
    case AVCHROMA_LOC_CENTER:
    case AVCHROMA_LOC_TOP:
    case AVCHROMA_LOC_BOTTOM: position.horizontal = 128; break;
    default: break;
  }
  switch (location) {
    case AVCHROMA_LOC_TOPLEFT:
    case AVCHROMA_LOC_TOP: position.vertical = 0; break;
    case AVCHROMA_LOC_BOTTOMLEFT:
    case AVCHROMA_LOC_BOTTOM: position.vertical = 256; break;
    default: break;
  }
  return position;
}

// torchcodec obeys the tagged range only off its fast path, at widths that are no multiple of 32.
bool obeys_range(Profile profile, const AVFrame& source) {
  return profile == Profile::vllm || source.width % 32 != 0;
}

ScalerPtr make_scaler(const AVFrame& source, AVPixelFormat format, AVPixelFormat target,
                      Profile profile) {
  ScalerPtr scaler(checked_alloc(sws_alloc_context()));
  SwsContext* s = scaler.get();
  av_opt_set_int(s, "srcw", source.width, 0);
  av_opt_set_int(s, "srch", source.height, 0);
  av_opt_set_int(s, "dstw", source.width, 0);
  av_opt_set_int(s, "dsth", source.height, 0);
  av_opt_set_int(s, "src_format", format, 0);
  av_opt_set_int(s, "dst_format", target, 0);
  av_opt_set_int(s, "sws_flags", SWS_BICUBIC, 0);
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
  if (profile == Profile::vllm && description->log2_chroma_w == 1 &&
      chroma_tag(source.chroma_location) != AVCHROMA_LOC_UNSPECIFIED) {
    const ChromaPosition position = position_of(chroma_tag(source.chroma_location));
    av_opt_set_int(s, "src_h_chr_pos", position.horizontal, 0);
    if (description->log2_chroma_h == 1) av_opt_set_int(s, "src_v_chr_pos", position.vertical, 0);
  }
  if (sws_init_context(s, nullptr, nullptr) < 0) fail(source);

  int* inverse = nullptr;
  int* table = nullptr;
  int source_range = 0;
  int target_range = 0;
  int brightness = 0;
  int contrast = 0;
  int saturation = 0;
  if (sws_getColorspaceDetails(s, &inverse, &source_range, &table, &target_range, &brightness,
                               &contrast, &saturation) >= 0) {
    const int* matrix = sws_getCoefficients(matrix_tag(source.colorspace));  // unspecified: BT.601
    if (range_tag(source.color_range) == AVCOL_RANGE_JPEG && obeys_range(profile, source))
      source_range = 1;
    if (is_full_range_format(format)) source_range = 1;
    sws_setColorspaceDetails(s, matrix, source_range, matrix, target_range, brightness, contrast,
                             saturation);
  }
  return scaler;
}

void scale(SwsContext* scaler, const AVFrame& source, AVFrame& target) {
  sws_scale(scaler, source.data, source.linesize, 0, source.height, target.data, target.linesize);
}

AvFramePtr make_target(const AVFrame& source, AVPixelFormat format) {
  AvFramePtr frame = make_frame();
  frame->width = source.width;
  frame->height = source.height;
  frame->format = format;
  if (av_frame_get_buffer(frame.get(), 64) < 0) throw std::bad_alloc();
  return frame;
}

}  // namespace

bool has_alpha(AVPixelFormat format) {
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
  return description != nullptr &&
         (description->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)) != 0;
}

FrameConverter::FrameConverter(Profile profile, std::int64_t rotation_degrees)
    : profile_(profile), rotation_degrees_(rotation_degrees) {}

void FrameConverter::prepare(const AVFrame& source) {
  if (packed_ != nullptr && source.width == packed_->width && source.height == packed_->height &&
      source.format == format_ && matrix_tag(source.colorspace) == matrix_ &&
      range_tag(source.color_range) == range_ && chroma_tag(source.chroma_location) == chroma_) {
    return;
  }
  const auto format = static_cast<AVPixelFormat>(source.format);
  if (av_pix_fmt_desc_get(format) == nullptr || sws_isSupportedInput(format) == 0) fail(source);
  colour_ = make_scaler(source, without_alpha(format), target_format(profile_), profile_);
  packed_ = make_target(source, target_format(profile_));
  upright_ = Frame(ImageSize{source.height, source.width});
  alpha_.reset();
  if (has_alpha(format)) {
    alpha_ = make_scaler(source, format, AV_PIX_FMT_RGBA, profile_);
    packed_alpha_ = make_target(source, AV_PIX_FMT_RGBA);
  }
  format_ = source.format;
  matrix_ = matrix_tag(source.colorspace);
  range_ = range_tag(source.color_range);
  chroma_ = chroma_tag(source.chroma_location);
}

const Frame& FrameConverter::convert(const AVFrame& source) {
  prepare(source);
  scale(colour_.get(), source, *packed_);
  unpack();
  if (alpha_ != nullptr) blend_on_white(source);
  if (rotation_degrees_ == 0) return upright_;
  turned_ = rotated(upright_, rotation_degrees_);
  return turned_;
}

void FrameConverter::unpack() {
  const std::int64_t width = upright_.size.width;
  for (std::int64_t y = 0; y < upright_.size.height; ++y) {
    const std::uint8_t* line = packed_->data[0] + y * packed_->linesize[0];
    std::uint8_t* out = upright_.row(y);
    if (!is_bgr(profile_)) {
      std::memcpy(out, line, static_cast<std::size_t>(width) * 3);
      continue;
    }
    for (std::int64_t x = 0; x < width; ++x) {
      out[3 * x] = line[3 * x + 2];
      out[3 * x + 1] = line[3 * x + 1];
      out[3 * x + 2] = line[3 * x];
    }
  }
}

// One rounding, as Pillow composites.
void FrameConverter::blend_on_white(const AVFrame& source) {
  scale(alpha_.get(), source, *packed_alpha_);
  for (std::int64_t y = 0; y < upright_.size.height; ++y) {
    const std::uint8_t* line = packed_alpha_->data[0] + y * packed_alpha_->linesize[0];
    std::uint8_t* out = upright_.row(y);
    for (std::int64_t i = 0; i < upright_.size.width * 3; ++i) {
      const std::int32_t alpha = line[i / 3 * 4 + 3];
      out[i] = static_cast<std::uint8_t>(div255(out[i] * alpha + 255 * (255 - alpha)));
    }
  }
}

Frame rotated(const Frame& frame, std::int64_t degrees) {
  const std::int64_t height = frame.size.height;
  const std::int64_t width = frame.size.width;
  const bool upright = degrees == 180;
  Frame turned(upright ? frame.size : ImageSize{width, height});
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      std::int64_t to_y = height - 1 - y;
      std::int64_t to_x = width - 1 - x;
      if (degrees == 90) {
        to_y = x;
        to_x = height - 1 - y;
      } else if (degrees == 270) {
        to_y = width - 1 - x;
        to_x = y;
      }
      std::memcpy(turned.row(to_y) + 3 * to_x, frame.row(y) + 3 * x, 3);
    }
  }
  return turned;
}

}  // namespace vtower
