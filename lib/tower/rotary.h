// 2-D rotary position embedding: no temporal part, float32 whatever the tower's dtype.
//
// Source: Qwen2VL / Qwen3VL vision rotary embedding of transformers 5.17.0. With head width d the
// frequencies are g_j = theta^(-2j / (d/2)), j < d/4; a patch at (y, x) has the angles
// [y g_0 .. y g_{d/4-1}, x g_0 .. x g_{d/4-1}].
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tower/placement.h"
#include "tower/stage_trace.h"

namespace vtower {

// cos and sin of the angles, float32 [N, d/2] each.
struct Rotation {
  at::Tensor cos;
  at::Tensor sin;
};

class RotaryEmbedding {
 public:
  RotaryEmbedding(std::int64_t head_dim, double theta, const Placement& placement);

  // positions: int32 [N, 2], (y, x) of each row. Shows "rotary.angles", "rotary.cos" and
  // "rotary.sin" to the trace's internals.
  [[nodiscard]] Rotation operator()(const at::Tensor& positions, const StageTrace& trace) const;

 private:
  at::Tensor frequencies_;  // float32 [d/4]
};

// Rotates q and k of qkv [N, 3, heads, d] in place: with halves (a, b) of a head,
// (a cos - b sin, b cos + a sin), computed in float32 (float64 for float64 values) and rounded
// once.
void rotate_queries_and_keys(at::Tensor& qkv, const Rotation& rotation);

}  // namespace vtower
