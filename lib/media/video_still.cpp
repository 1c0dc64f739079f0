// A single picture taken as a clip of one frame, decoded as in image mode.
#include <cstring>

#include "media/image_decoder.h"
#include "media/orientation.h"
#include "media/video_source.h"

namespace vtower {
namespace {

class StillClip final : public ClipSource {
 public:
  StillClip(std::span<const std::uint8_t> bytes, const MediaOptions& options)
      : decoder_(open_image({bytes, options.profile, options.max_image_pixels})) {
    const ImageHeader& header = decoder_->header();
    turned_ = options.profile != Profile::hf && turns(header.orientation);
    facts_.format = header.format;
    facts_.stored = header.stored;
    facts_.shown = turned_ ? oriented_size(header.stored, header.orientation) : header.stored;
    facts_.times.seconds = {0.0};
    facts_.notes = header.notes;
    facts_.notes.emplace_back("a still picture taken as a clip");
  }

  std::vector<std::int64_t> decode(std::span<const std::int64_t> wanted,
                                   const FrameTaker& take) const override {
    if (wanted.empty()) return {};
    Frame stored(facts_.stored);
    const std::size_t line = static_cast<std::size_t>(stored.size.width) * 3;
    std::int64_t y = 0;
    decoder_->decode([&](const std::uint8_t* rgb) { std::memcpy(stored.row(y++), rgb, line); });
    take(0, turned_ ? oriented(stored, *decoder_->header().orientation) : std::move(stored));
    return {};
  }

  // A damaged picture is an Error, not a frame.
  [[nodiscard]] std::vector<std::int64_t> damaged_frames() const override { return {}; }

 private:
  std::unique_ptr<const ImageDecoder> decoder_;
  bool turned_ = false;
};

}  // namespace

std::unique_ptr<const ClipSource> open_still_clip(std::span<const std::uint8_t> bytes,
                                                  const MediaOptions& options) {
  return std::make_unique<StillClip>(bytes, options);
}

}  // namespace vtower
