// Named stage outputs on their way past an observer.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>

namespace vtower {

// Stages and their orders: normalized [N, K] and patch_embed [N, D] in input row order, pos_embed
// [N, D] (qwen3_vl), block_input [N, D], block.I.attn and block.I.mlp (branch outputs before the
// residual), block.I [N, D] (qwen2_5_vl: in window order), merger [M, out] = embeddings,
// deepstack.J [M, out].
class StageTrace {
 public:
  // The tensor is valid during the call only: an observer that keeps it must copy it.
  using Observer = std::function<void(const std::string& stage, const at::Tensor& value)>;

  StageTrace() = default;
  explicit StageTrace(Observer observer) : observer_(std::move(observer)) {}

  // Whether anybody listens.
  [[nodiscard]] bool active() const noexcept { return static_cast<bool>(observer_); }

  void operator()(const std::string& stage, const at::Tensor& value) const {
    if (observer_) observer_(stage, value);
  }

 private:
  Observer observer_;
};

}  // namespace vtower
