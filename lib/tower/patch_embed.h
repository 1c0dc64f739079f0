// The only consumer of normalised pixels.
#pragma once

#include "checkpoint/vision_config.h"
#include "tower/linear.h"
#include "tower/normalized_patches.h"
#include "tower/stage_trace.h"

namespace vtower {

// A Conv3d whose kernel and stride are the patch: a plain product with the weight seen as [D, K].
class PatchEmbed {
 public:
  PatchEmbed(WeightSource& weights, const VisionConfig& config, const Placement& placement,
             Bias bias);

  // [N, K] -> [N, D]; emits the stage "patch_embed".
  [[nodiscard]] at::Tensor operator()(NormalizedPatches&& patches, const StageTrace& trace) const;

 private:
  Linear proj_;
};

}  // namespace vtower
