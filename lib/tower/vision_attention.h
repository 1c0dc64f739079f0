// Multi-head attention within sequences.
#pragma once

#include <string>

#include "checkpoint/vision_config.h"
#include "checkpoint/weight_source.h"
#include "tower/linear.h"
#include "tower/plan_tensors.h"
#include "tower/rotary.h"

namespace vtower {

// softmax(q k^T / sqrt(head_dim)) v within each sequence: no mask, not causal.
// qkv: [N, 3, heads, head_dim], result [N, heads * head_dim].
at::Tensor attend_within_sequences(const at::Tensor& qkv, const Sequences& sequences);

class VisionAttention {
 public:
  VisionAttention(WeightSource& weights, const std::string& block, const VisionConfig& config,
                  const Placement& placement);
  // [N, D] -> [N, D], after the output projection.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, const Sequences& sequences,
                                      const Rotation& rotation) const;

 private:
  std::int64_t heads_;
  Linear qkv_;
  Linear proj_;
};

}  // namespace vtower
