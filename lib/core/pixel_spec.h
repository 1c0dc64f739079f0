// What a checkpoint's preprocessor files say about pixels, without any normalisation constant:
// lib/media turns files into patch rows from this alone.
#pragma once

#include <cstdint>
#include <optional>

#include "core/patch_layout.h"

namespace vtower {

// Limits on the resized area in pixels. Image and Qwen2-rule video: per frame; Qwen3-rule video:
// over the whole clip. (`size.shortest_edge`, `size.longest_edge` of the preprocessor files, which
// are areas in spite of their names.)
struct PixelLimits {
  std::int64_t min_pixels = 0;
  std::int64_t max_pixels = 0;
  friend constexpr bool operator==(const PixelLimits&, const PixelLimits&) = default;
};

// `resample` of the preprocessor files (Pillow's codes).
enum class Resample { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3 };

// Which video rules a family follows: Qwen2VLVideoProcessor or Qwen3VLVideoProcessor.
enum class VideoRule { qwen2, qwen3 };

struct PixelSpec {
  PatchLayout layout;
  Resample resample = Resample::bicubic;
  PixelLimits image_limits;
  PixelLimits video_limits;
  VideoRule video_rule = VideoRule::qwen2;

  // The checkpoint's own video sampling defaults; empty where its files leave them out.
  std::optional<bool> do_sample_frames;
  std::optional<double> fps;
  std::optional<std::int64_t> num_frames;
  std::optional<std::int64_t> min_frames;
  std::optional<std::int64_t> max_frames;
};

}  // namespace vtower
