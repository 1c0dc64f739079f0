// A container's video stream as a clip.
extern "C" {
#include <libavutil/pixdesc.h>
}

#include <mutex>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "media/image_decoder.h"
#include "media/video_container.h"
#include "media/video_convert.h"
#include "media/video_decoder.h"
#include "media/video_index.h"
#include "media/video_source.h"

namespace vtower {
namespace {

const char* or_unknown(const char* name) {
  return name != nullptr ? name : "unknown";
}

// Converters for as many threads as there are, each made when it is first needed.
class ConverterPool {
 public:
  ConverterPool(Profile profile, std::int64_t rotation) : profile_(profile), rotation_(rotation) {}

  void convert(std::int64_t index, const AVFrame& source, const FrameTaker& take_frame) {
    std::unique_ptr<FrameConverter> converter = take();
    take_frame(index, converter->convert(source));
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(converter));
  }

 private:
  std::unique_ptr<FrameConverter> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<FrameConverter>(profile_, rotation_);
    std::unique_ptr<FrameConverter> converter = std::move(idle_.back());
    idle_.pop_back();
    return converter;
  }

  Profile profile_;
  std::int64_t rotation_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<FrameConverter>> idle_;
};

class ContainerClip final : public ClipSource {
 public:
  ContainerClip(std::span<const std::uint8_t> bytes, const MediaOptions& options)
      : bytes_(bytes), options_(options) {
    VideoContainer container(bytes, options.max_image_pixels);
    check_image_size(container.stored_size(), options.max_image_pixels, "video_container");
    index_ = scan_frames(container);
    facts_.format = container.format_name();
    facts_.stored = container.stored_size();
    facts_.rotation_degrees = container.rotation_degrees();
    facts_.shown = facts_.rotation_degrees % 180 == 0
                       ? facts_.stored
                       : ImageSize{facts_.stored.width, facts_.stored.height};
    facts_.times = {index_.seconds, index_.duration_seconds, container.average_rate()};
    facts_.start_seconds = index_.start_seconds;
    facts_.header_frame_count = container.header_frame_count();
    describe_pixels(container);
    if (index_.variable_rate()) facts_.notes.emplace_back("the frame rate varies");
  }

  std::vector<std::int64_t> decode(std::span<const std::int64_t> wanted,
                                   const FrameTaker& take) const override {
    ConverterPool converters(options_.profile, facts_.rotation_degrees);
    return decode_frames(bytes_, index_, wanted, decode_options(Walk::seeking),
                         [&](std::int64_t index, const AVFrame& source) {
                           converters.convert(index, source, take);
                         });
  }

  [[nodiscard]] std::vector<std::int64_t> damaged_frames() const override {
    std::vector<std::int64_t> all(index_.frames.size());
    std::iota(all.begin(), all.end(), 0);
    return decode_frames(bytes_, index_, all, decode_options(Walk::sequential),
                         [](std::int64_t, const AVFrame&) {});
  }

 private:
  [[nodiscard]] DecodeOptions decode_options(Walk walk) const {
    return {walk, options_.decode_threads, options_.max_image_pixels};
  }

  void describe_pixels(const VideoContainer& container) {
    const AVCodecParameters& codec = container.codec();
    const auto format = static_cast<AVPixelFormat>(codec.format);
    const AVColorTransferCharacteristic curve = transfer_tag(codec.color_trc);
    const std::string transfer = or_unknown(av_color_transfer_name(curve));
    facts_.pixel_format = or_unknown(av_get_pix_fmt_name(format));
    facts_.colour = "matrix " +
                    std::string(or_unknown(av_color_space_name(matrix_tag(codec.color_space)))) +
                    ", range " + or_unknown(av_color_range_name(range_tag(codec.color_range))) +
                    ", transfer " + transfer;
    if (curve == AVCOL_TRC_SMPTE2084 || curve == AVCOL_TRC_ARIB_STD_B67) {
      facts_.notes.push_back("HDR transfer " + transfer + " is not mapped to SDR");
    }
    if (has_alpha(format) || container.has_alpha_stream()) {
      facts_.notes.emplace_back("transparency, where there is any, is blended on white");
    }
    const AVRational aspect = container.stream().sample_aspect_ratio;
    if (aspect.num > 0 && aspect.den > 0 && aspect.num != aspect.den) {
      facts_.notes.push_back("pixels of " + std::to_string(aspect.num) + ":" +
                             std::to_string(aspect.den) + " are taken as square");
    }
  }

  std::span<const std::uint8_t> bytes_;
  MediaOptions options_;
  FrameIndex index_;
};

}  // namespace

std::unique_ptr<const ClipSource> open_container_clip(std::span<const std::uint8_t> bytes,
                                                      const MediaOptions& options) {
  return std::make_unique<ContainerClip>(bytes, options);
}

}  // namespace vtower
