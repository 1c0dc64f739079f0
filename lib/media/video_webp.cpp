// Animated WebP as a clip: libwebp's own compositing of frames, then white below.
#include <webp/demux.h>

#include <new>
#include <numeric>

#include "core/error.h"
#include "media/image_decoder.h"
#include "media/pixels.h"
#include "media/video_source.h"

namespace vtower {
namespace {

struct WebpDelete {
  void operator()(WebPDemuxer* demuxer) const noexcept { WebPDemuxDelete(demuxer); }
  void operator()(WebPAnimDecoder* decoder) const noexcept { WebPAnimDecoderDelete(decoder); }
};
using DemuxerPtr = std::unique_ptr<WebPDemuxer, WebpDelete>;
using AnimationPtr = std::unique_ptr<WebPAnimDecoder, WebpDelete>;

DemuxerPtr demux(std::span<const std::uint8_t> bytes) {
  const WebPData data{bytes.data(), bytes.size()};
  return DemuxerPtr(WebPDemux(&data));
}

class WebpClip final : public ClipSource {
 public:
  WebpClip(std::span<const std::uint8_t> bytes, const MediaOptions& options) : bytes_(bytes) {
    const DemuxerPtr demuxer = demux(bytes);
    facts_.format = "webp";
    facts_.stored = {WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT),
                     WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH)};
    check_image_size(facts_.stored, options.max_image_pixels, "video_webp");
    facts_.shown = facts_.stored;
    facts_.pixel_format = "rgba";
    facts_.header_frame_count = WebPDemuxGetI(demuxer.get(), WEBP_FF_FRAME_COUNT);
    facts_.notes.emplace_back("transparency, where there is any, is blended on white");

    std::int64_t milliseconds = 0;
    WebPIterator frame;
    for (int more = WebPDemuxGetFrame(demuxer.get(), 1, &frame); more != 0;
         more = WebPDemuxNextFrame(&frame)) {
      facts_.times.seconds.push_back(static_cast<double>(milliseconds) / 1000.0);
      milliseconds += frame.duration;
    }
    WebPDemuxReleaseIterator(&frame);
    facts_.times.duration_seconds = static_cast<double>(milliseconds) / 1000.0;
    if (facts_.times.seconds.empty()) {
      throw Error(ErrorKind::unreadable, "video_webp", "the animation holds no frame");
    }
  }

  std::vector<std::int64_t> decode(std::span<const std::int64_t> wanted,
                                   const FrameTaker& take) const override {
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0) throw std::bad_alloc();
    options.color_mode = MODE_RGBA;
    const WebPData data{bytes_.data(), bytes_.size()};
    const AnimationPtr animation(WebPAnimDecoderNew(&data, &options));
    if (animation == nullptr) throw std::bad_alloc();
    std::size_t next = 0;
    for (std::int64_t index = 0; next < wanted.size(); ++index) {
      std::uint8_t* canvas = nullptr;
      int end_time = 0;
      if (WebPAnimDecoderGetNext(animation.get(), &canvas, &end_time) == 0) break;
      if (index != wanted[next]) continue;
      take(index, on_white(canvas));
      ++next;
    }
    return {wanted.begin() + static_cast<std::ptrdiff_t>(next), wanted.end()};
  }

  [[nodiscard]] std::vector<std::int64_t> damaged_frames() const override {
    std::vector<std::int64_t> all(facts_.times.seconds.size());
    std::iota(all.begin(), all.end(), 0);
    return decode(all, [](std::int64_t, const Frame&) {});
  }

 private:
  [[nodiscard]] Frame on_white(const std::uint8_t* rgba) const {
    Frame frame(facts_.stored);
    for (std::int64_t y = 0; y < frame.size.height; ++y) {
      rgba_to_rgb(rgba + y * frame.size.width * 4, frame.size.width, AlphaPolicy::on_white,
                  frame.row(y));
    }
    return frame;
  }

  std::span<const std::uint8_t> bytes_;
};

}  // namespace

bool is_animated_webp(std::span<const std::uint8_t> bytes) {
  const DemuxerPtr demuxer = demux(bytes);
  return demuxer != nullptr && WebPDemuxGetI(demuxer.get(), WEBP_FF_FRAME_COUNT) > 1;
}

std::unique_ptr<const ClipSource> open_webp_clip(std::span<const std::uint8_t> bytes,
                                                 const MediaOptions& options) {
  return std::make_unique<WebpClip>(bytes, options);
}

}  // namespace vtower
