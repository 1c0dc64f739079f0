// The tower written a second time, straight from its definition: the truth that fast code is
// compared with.
//
// One item at a time, no plan, no batching; patches attend to each other when a label made from
// their own coordinates is equal. It shares the checkpoint's tensors with lib/tower and no line of
// code. Slow and simple on purpose. Source: the vision models of
// transformers 5.17.0, computed here without their roundings.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/raw_patches.h"

namespace vtower::oracle {

// Stages to keep: normalized, patch_embed, pos_embed (qwen3_vl), block_input, block.I.attn,
// block.I.mlp, block.I, merger, deepstack.J (qwen3_vl), window_index (qwen2_5_vl).
class StageRequest {
 public:
  static StageRequest none() { return {}; }
  static StageRequest all();
  static StageRequest of(std::set<std::string> names);

  [[nodiscard]] bool wants(const std::string& name) const { return all_ || names_.contains(name); }
  [[nodiscard]] const std::set<std::string>& names() const noexcept { return names_; }

 private:
  bool all_ = false;
  std::set<std::string> names_;
};

struct OracleOptions {
  // Items of more patches than this are computed in float32.
  std::int64_t largest_float64_item = 32768;
  // Computes in this type instead (f32, bf16 or f16), rounding after every written operation: what
  // an independent implementation in that type may differ by.
  std::optional<DType> rounded_to = std::nullopt;
};

struct OracleOutput {
  at::Tensor embeddings;              // float64 [tokens, out], tokens in input order
  std::vector<at::Tensor> deepstack;  // float64 [tokens, out] each; qwen3_vl, in order of blocks
  // What was asked for, float64 but `normalized` (float32) and `window_index` (int64, [tokens]).
  // qwen2_5_vl: block_input and block.* have their rows in window order, as the reference's.
  std::map<std::string, at::Tensor> stages;
  DType computed_in = DType::f64;
};

class TowerWeights;

// Immutable after construction; encode_item() may be called from several threads.
class Oracle {
 public:
  // Takes all vision tensors. Throws Error{checkpoint} as WeightSource does.
  explicit Oracle(const Checkpoint& checkpoint, const OracleOptions& options = {});
  ~Oracle();
  Oracle(Oracle&&) noexcept;

  // Throws Error{out_of_range} for an item that does not exist or rows of another layout, and
  // Error{usage} for a stage that this tower does not have.
  [[nodiscard]] OracleOutput encode_item(const RawPatches& patches, std::size_t item,
                                         const StageRequest& stages = StageRequest::none()) const;

 private:
  VisionConfig config_;
  NormConstants constants_;
  OracleOptions options_;
  std::unique_ptr<const TowerWeights> weights_;
};

}  // namespace vtower::oracle
