// A SeqPlan as the tower's leaves take it: tensors on the tower's device.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "tower/placement.h"
#include "tower/seq_plan.h"

namespace vtower {

// The sequences of one kind of attention.
struct Sequences {
  std::span<const std::int32_t> host_cu_seqlens;  // of the SeqPlan
  at::Tensor cu_seqlens;                          // int32, on the device
  std::int64_t longest = 0;                       // rows
};

// The most rows of a sequence; 0 without sequences.
std::int64_t longest_sequence(std::span<const std::int32_t> cu_seqlens);

// Views of the plan on the CPU, copies elsewhere. The SeqPlan must outlive it.
struct PlanTensors {
  PlanTensors() = default;
  PlanTensors(const SeqPlan& plan, const Placement& placement);

  std::int64_t rows = 0;
  Sequences frames;
  Sequences windows;            // qwen2_5_vl
  at::Tensor window_order;      // int64 [M]
  at::Tensor window_inverse;    // int64 [M]
  at::Tensor rope_positions;    // int32 [N, 2]
  at::Tensor position_taps;     // int32 [4, N], qwen3_vl
  at::Tensor position_weights;  // float32 [4, N]
};

}  // namespace vtower
