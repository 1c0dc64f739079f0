#include "tower/plan_tensors.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace vtower {
namespace {

template <typename Element>
at::Tensor upload(const std::vector<Element>& values, std::vector<std::int64_t> shape,
                  const Placement& placement) {
  // LibTorch has no tensors of const data; nothing writes to a plan.
  auto* data = const_cast<Element*>(values.data());
  return at::from_blob(data, shape, at::TensorOptions().dtype(c10::CppTypeToScalarType<Element>()))
      .to(placement.device);
}

template <typename Element>
at::Tensor upload(const std::vector<Element>& values, const Placement& placement) {
  return upload(values, {static_cast<std::int64_t>(values.size())}, placement);
}

Sequences sequences(const std::vector<std::int32_t>& cu_seqlens, const Placement& placement) {
  return {cu_seqlens, upload(cu_seqlens, placement), longest_sequence(cu_seqlens)};
}

}  // namespace

std::int64_t longest_sequence(std::span<const std::int32_t> cu_seqlens) {
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
    longest = std::max<std::int64_t>(longest, cu_seqlens[i] - cu_seqlens[i - 1]);
  }
  return longest;
}

PlanTensors::PlanTensors(const SeqPlan& plan, const Placement& placement)
    : rows(plan.rows),
      frames(sequences(plan.frame_cu_seqlens, placement)),
      rope_positions(upload(plan.rope_positions, {plan.rows, 2}, placement)) {
  if (!plan.window_order.empty()) {
    windows = sequences(plan.window_cu_seqlens, placement);
    window_order = upload(plan.window_order, placement);
    window_inverse = upload(plan.window_inverse, placement);
  }
  if (!plan.position_taps.empty()) {
    position_taps = upload(plan.position_taps, {4, plan.rows}, placement);
    position_weights = upload(plan.position_weights, {4, plan.rows}, placement);
  }
}

}  // namespace vtower
