// What the three towers have in common, each written as its formula reads.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/vision_config.h"
#include "core/grid_thw.h"
#include "oracle/oracle.h"
#include "oracle/tower_weights.h"

namespace vtower::oracle {

// Where a patch lies in its item: temporal group, row and column of the patch grid.
struct PatchPlace {
  std::int64_t t = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;
};

// Places of the rows of an item in merge order.
std::vector<PatchPlace> places_in_merge_order(const GridThw& grid, std::int64_t merge_size);

// Everything about one item that a tower's definition needs.
struct Item {
  at::Tensor normalized;  // float32 [N, K]
  GridThw grid;
  std::vector<PatchPlace> places;  // of its N rows
};

// Collects the requested stages.
class StageLog {
 public:
  explicit StageLog(const StageRequest& request) : request_(request) {}
  [[nodiscard]] bool wants(const std::string& name) const { return request_.wants(name); }
  void put(const std::string& name, const at::Tensor& value);
  [[nodiscard]] std::map<std::string, at::Tensor> take() { return std::move(stages_); }

 private:
  const StageRequest& request_;
  std::map<std::string, at::Tensor> stages_;
};

// Weights in the type that the item is computed in.
struct Weights {
  const TowerWeights& tensors;
  at::ScalarType type;
  [[nodiscard]] at::Tensor operator()(const std::string& name) const {
    return tensors.get(name, type);
  }
};

at::Tensor linear(const at::Tensor& x, const Weights& weights, const std::string& name);
at::Tensor layer_norm(const at::Tensor& x, const Weights& weights, const std::string& name,
                      double eps);
at::Tensor rms_norm(const at::Tensor& x, const Weights& weights, const std::string& name,
                    double eps);
at::Tensor activate(const at::Tensor& x, Activation activation);

// A convolution whose kernel is as large as its input, hence a product with the flat kernel;
// without bias.
at::Tensor patch_embed(const at::Tensor& normalized, const Weights& weights);

// Multi-head attention with two-dimensional rotary embedding. A patch attends to those of the same
// label.
at::Tensor attention(const at::Tensor& x, const Weights& weights, const std::string& name,
                     const VisionConfig& config, const std::vector<PatchPlace>& places,
                     const std::vector<std::int64_t>& labels);

// Patches of one temporal group see each other.
std::vector<std::int64_t> frame_labels(const std::vector<PatchPlace>& places);

// Joins each run of merge_size^2 rows to one row.
at::Tensor join_patches(const at::Tensor& x, const VisionConfig& config);

// The three definitions; `log` receives stages under their names.
struct TowerResult {
  at::Tensor embeddings;
  std::vector<at::Tensor> deepstack;
};
TowerResult encode_qwen2_vl(const Item& item, const Weights& weights, const VisionConfig& config,
                            StageLog& log);
TowerResult encode_qwen2_5_vl(const Item& item, const Weights& weights, const VisionConfig& config,
                              StageLog& log);
TowerResult encode_qwen3_vl(const Item& item, const Weights& weights, const VisionConfig& config,
                            StageLog& log);

}  // namespace vtower::oracle
