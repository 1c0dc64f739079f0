// The published checkpoints' pixel specifications for clips.
#pragma once

#include "core/pixel_spec.h"

namespace vtower::test {

inline PixelSpec qwen2_spec() {
  PixelSpec spec;
  spec.layout = {.patch_size = 14, .temporal_patch_size = 2, .merge_size = 2};
  spec.image_limits = {3136, 12'845'056};
  spec.video_limits = {3136, 12'845'056};
  spec.video_rule = VideoRule::qwen2;
  return spec;
}

inline PixelSpec qwen3_spec() {
  PixelSpec spec;
  spec.layout = {.patch_size = 16, .temporal_patch_size = 2, .merge_size = 2};
  spec.image_limits = {65'536, 16'777'216};
  spec.video_limits = {4096, 25'165'824};
  spec.video_rule = VideoRule::qwen3;
  return spec;
}

}  // namespace vtower::test
