// Named stage outputs on their way past an observer.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>

#include "tower/ledger.h"

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

  // Sees, and may overwrite, what is computed on the way and is no stage: the rotation's tables.
  using Internals = std::function<void(const std::string& name, at::Tensor& value)>;
  [[nodiscard]] StageTrace with_internals(Internals internals) const {
    StageTrace trace(*this);
    trace.internals_ = std::move(internals);
    return trace;
  }
  void internal(const std::string& name, at::Tensor& value) const {
    if (internals_) internals_(name, value);
  }

  // The same observer, with the stages noted in `ledger`, which must outlive the copy.
  [[nodiscard]] StageTrace noting_in(Ledger& ledger) const {
    StageTrace noting(*this);
    noting.ledger_ = &ledger;
    return noting;
  }

  // Whether anybody looks at the values.
  [[nodiscard]] bool active() const noexcept { return static_cast<bool>(observer_); }

  void operator()(const std::string& stage, const at::Tensor& value) const {
    if (ledger_ != nullptr) {
      ledger_->entries.push_back(
          {stage, value.size(0), value.size(1), value.scalar_type(), value.device()});
    }
    if (observer_) observer_(stage, value);
  }

  // The range of the values [N, K], channel by channel, for the ledger.
  void note_norm_range(const at::Tensor& values) const;

 private:
  Observer observer_;
  Internals internals_;
  Ledger* ledger_ = nullptr;
};

}  // namespace vtower
