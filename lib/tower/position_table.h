// Learned absolute positions, interpolated to the grid of each item (qwen3_vl).
#pragma once

#include <ATen/core/Tensor.h>

#include "checkpoint/vision_config.h"
#include "checkpoint/weight_source.h"
#include "tower/plan_tensors.h"

namespace vtower {

class PositionTable {
 public:
  PositionTable(WeightSource& weights, const VisionConfig& config, const Placement& placement);

  // [N, D]: the four corners of each row weighted and summed in float32, then cast once.
  [[nodiscard]] at::Tensor operator()(const PlanTensors& plan) const;

 private:
  at::Tensor table_;  // [side^2, D], the tower's dtype
};

}  // namespace vtower
