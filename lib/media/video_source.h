// Where the frames of a clip come from: a container read by libav, an animated WebP, or a single
// picture that is to be taken as a clip.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/frame.h"
#include "media/media_options.h"
#include "media/video_plan.h"

namespace vtower {

struct ClipFacts {
  std::string format;  // libav's name of the container, "webp", "jpeg", ...
  ImageSize stored;
  ImageSize shown;  // after rotation
  std::int64_t rotation_degrees = 0;
  ClipTimes times;
  double start_seconds = 0.0;
  std::optional<std::int64_t> header_frame_count;
  std::string pixel_format;
  std::string colour;
  std::vector<std::string> notes;
};

// Takes frame `index`, upright and of size facts().shown. May be called from several threads at
// once, for different frames.
using FrameTaker = std::function<void(std::int64_t index, const Frame& frame)>;

// Immutable; its methods may be called from any thread, and again.
class ClipSource {
 public:
  virtual ~ClipSource() = default;
  [[nodiscard]] const ClipFacts& facts() const noexcept { return facts_; }

  // Decodes the frames `wanted` (ascending, without repeats). Returns those that are damaged; then
  // nothing that `take` was given is to be used. Throws Error, and what `take` throws.
  virtual std::vector<std::int64_t> decode(std::span<const std::int64_t> wanted,
                                           const FrameTaker& take) const = 0;

  // Every damaged frame of the clip, found by decoding all of it.
  [[nodiscard]] virtual std::vector<std::int64_t> damaged_frames() const = 0;

 protected:
  ClipFacts facts_;
};

// `bytes` must outlive the source. Throws Error as open_video_item does.
std::unique_ptr<const ClipSource> open_clip(std::span<const std::uint8_t> bytes,
                                            const MediaOptions& options);

// One for each kind of file.
std::unique_ptr<const ClipSource> open_container_clip(std::span<const std::uint8_t> bytes,
                                                      const MediaOptions& options);
std::unique_ptr<const ClipSource> open_webp_clip(std::span<const std::uint8_t> bytes,
                                                 const MediaOptions& options);
std::unique_ptr<const ClipSource> open_still_clip(std::span<const std::uint8_t> bytes,
                                                  const MediaOptions& options);

// Whether a WebP holds more than one frame, a PNG an animation.
bool is_animated_webp(std::span<const std::uint8_t> bytes);
bool is_animated_png(std::span<const std::uint8_t> bytes);

}  // namespace vtower
