// Which frames of a clip are taken, and what was done about requests that do not fit: the policies
// around the references' rules of sampling.h.
//
// - A request for more frames than there are is clamped first, and recorded.
// - A clip of one frame is that frame, whatever the rule says of it.
// - hf: an index that the rule puts behind the last frame becomes the last frame, and is noted.
// - hf-qwen2 takes all frames unless a rate or a count is asked for, by option or checkpoint.
// - vllm's Qwen loaders ignore a count; here it is obeyed by the family's own formula.
// - vllm caps requests at 768 frames and 30 frames a second; hf has no cap.
// - More than --max-video-frames frames fail the item.
// - SampleBy::time takes the frames shown at equal distances of time (a rule of our own).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/pixel_spec.h"
#include "media/media_options.h"

namespace vtower {

// What the plan has to know of a clip; seconds.size() is the number of its frames, >= 1.
struct ClipTimes {
  std::vector<double> seconds;           // when each frame is shown, from the first
  double duration_seconds = 0.0;         // 0 where unknown
  std::optional<double> container_rate;  // average rate that the container names
};

struct FramePlan {
  std::vector<std::int64_t> indices;  // ascending
  std::optional<double> fps;          // the rate the rule was given
  std::string fps_origin;             // "container", "timestamps", "assumed", "unknown"
  std::string rule;                   // rule and arguments
  std::optional<std::int64_t> frames_asked;
  std::vector<std::string> notes;
};

// Throws Error: usage (contradictory or missing requests), out_of_range (no frame is left, or the
// rule needs a rate and the clip has none), too_large (--max-video-frames).
FramePlan plan_frames(const ClipTimes& clip, const PixelSpec& spec, const MediaOptions& options);

}  // namespace vtower
