// WebP by libwebp: lossy, lossless, transparency, the first frame of an animation.
#include <webp/decode.h>
#include <webp/demux.h>

#include <cstring>

#include "core/byte_buffer.h"
#include "core/error.h"
#include "media/byte_reader.h"
#include "media/image_decoder.h"
#include "media/orientation.h"
#include "media/pixels.h"
#include "media/resize_kernels.h"

namespace vtower {
namespace {

// A demuxer over the whole file and its first frame.
class WebpFile {
 public:
  explicit WebpFile(std::span<const std::uint8_t> bytes) {
    const WebPData data{bytes.data(), bytes.size()};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    demuxer_.reset(WebPDemuxPartial(&data, &state));
    if (state == WEBP_DEMUX_PARSING_HEADER || state == WEBP_DEMUX_PARSED_HEADER) {
      throw Error(ErrorKind::truncated, "webp", "the file ends before what its header announces");
    }
    if (demuxer_ == nullptr || state != WEBP_DEMUX_DONE) {
      throw Error(ErrorKind::unreadable, "webp", "the chunks of the file make no sense");
    }
  }

  [[nodiscard]] std::int64_t feature(WebPFormatFeature which) const {
    return WebPDemuxGetI(demuxer_.get(), which);
  }

  // The content of the first chunk of that name; empty where there is none.
  [[nodiscard]] std::string chunk(const char* name) const {
    WebPChunkIterator iterator;
    std::string content;
    if (WebPDemuxGetChunk(demuxer_.get(), name, 1, &iterator) != 0) {
      content.assign(reinterpret_cast<const char*>(iterator.chunk.bytes), iterator.chunk.size);
      WebPDemuxReleaseChunkIterator(&iterator);
    }
    return content;
  }

  struct FirstFrame {
    std::int64_t left = 0, top = 0;
    ImageSize size;
    std::span<const std::uint8_t> data;
  };
  [[nodiscard]] FirstFrame first_frame() const {
    WebPIterator iterator;
    if (WebPDemuxGetFrame(demuxer_.get(), 1, &iterator) == 0) {
      throw Error(ErrorKind::unreadable, "webp", "there is no frame in the file");
    }
    const FirstFrame frame{iterator.x_offset,
                           iterator.y_offset,
                           {iterator.height, iterator.width},
                           {iterator.fragment.bytes, iterator.fragment.size}};
    WebPDemuxReleaseIterator(&iterator);
    return frame;
  }

 private:
  struct Delete {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
  };
  std::unique_ptr<WebPDemuxer, Delete> demuxer_;
};

// RIFF's own size field against the file: a cut file is told apart from a damaged one.
void check_riff_size(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes, ByteOrder::little, "webp");
  reader.seek(4);
  const std::uint32_t announced = reader.u32();
  reader.take(announced);
}

class WebpDecoder : public ImageDecoder {
 public:
  explicit WebpDecoder(const ImageSource& source) : source_(source) {
    check_riff_size(source.bytes);
    const WebpFile file(source.bytes);
    header_.format = "webp";
    header_.stored = {file.feature(WEBP_FF_CANVAS_HEIGHT), file.feature(WEBP_FF_CANVAS_WIDTH)};
    check_image_size(header_.stored, source.max_image_pixels, "webp");
    const std::int64_t flags = file.feature(WEBP_FF_FORMAT_FLAGS);
    const std::int64_t frames = file.feature(WEBP_FF_FRAME_COUNT);
    if ((flags & ANIMATION_FLAG) != 0 && source.profile == Profile::hf) {
      throw Error(ErrorKind::unsupported, "webp",
                  "animated: torchvision refuses it; the profiles vllm and hf-pil take the first "
                  "frame");
    }
    if (frames > 1) header_.notes.emplace_back("first of " + std::to_string(frames) + " frames");
    if ((flags & ICCP_FLAG) != 0) header_.notes.emplace_back("ICC profile ignored");
    const std::string exif = file.chunk("EXIF");
    header_.orientation =
        exif_orientation({reinterpret_cast<const std::uint8_t*>(exif.data()), exif.size()});
    if (!header_.orientation) header_.orientation = xmp_orientation(file.chunk("XMP "));
    // What the file as a whole says, as Pillow asks: an opaque picture is not composited.
    WebPBitstreamFeatures features;
    has_alpha_ =
        WebPGetFeatures(source.bytes.data(), source.bytes.size(), &features) == VP8_STATUS_OK &&
        features.has_alpha != 0;
    if (has_alpha_) header_.notes.emplace_back(alpha_note(source.alpha_policy()));
  }

  std::vector<std::string> decode(const LineSink& sink) const override {
    const WebpFile file(source_.bytes);
    const WebpFile::FirstFrame frame = file.first_frame();
    const auto width = static_cast<std::size_t>(header_.stored.width);
    const auto height = static_cast<std::size_t>(header_.stored.height);
    if (frame.size.height > header_.stored.height - frame.top ||
        frame.size.width > header_.stored.width - frame.left) {
      throw Error(ErrorKind::unreadable, "webp", "the first frame leaves the canvas");
    }
    ByteBuffer canvas(width * height * 4);
    if (frame.size != header_.stored) std::memset(canvas.data(), 0, canvas.size());
    const std::size_t start =
        (static_cast<std::size_t>(frame.top) * width + static_cast<std::size_t>(frame.left)) * 4;
    const std::uint8_t* decoded =
        WebPDecodeRGBAInto(frame.data.data(), frame.data.size(), canvas.data() + start,
                           canvas.size() - start, static_cast<int>(width * 4));
    if (decoded == nullptr) {
      throw Error(ErrorKind::unreadable, "webp", "the picture data are damaged or incomplete");
    }
    const AlphaPolicy policy = has_alpha_ ? source_.alpha_policy() : AlphaPolicy::drop;
    ByteBuffer rgb(width * 3 + line_slack);
    std::memset(rgb.data(), 0, rgb.size());
    for (std::size_t y = 0; y < height; ++y) {
      rgba_to_rgb(canvas.data() + y * width * 4, header_.stored.width, policy, rgb.data());
      sink(rgb.data());
    }
    return {};
  }

 private:
  ImageSource source_;
  bool has_alpha_ = false;
};

}  // namespace

std::unique_ptr<const ImageDecoder> open_webp(const ImageSource& source) {
  return std::make_unique<WebpDecoder>(source);
}

}  // namespace vtower
