// The tensors of a tower by name, converted when they are used.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/vision_config.h"
#include "checkpoint/weight_source.h"

namespace vtower::oracle {

// Held as they are stored, so that a big tower does not need eight bytes a weight.
class TowerWeights {
 public:
  // All tensors of the family, each checked for its shape, and none left over.
  TowerWeights(WeightSource source, const VisionConfig& config);

  [[nodiscard]] at::Tensor get(const std::string& name, at::ScalarType type) const;

 private:
  void take(const std::string& name, std::vector<std::int64_t> shape);
  void take_linear(const std::string& name, std::int64_t out, std::int64_t in);
  void take_layer_norm(const std::string& name, std::int64_t width);
  void take_qwen2_vl(const VisionConfig& config);
  void take_qwen2_5_vl(const VisionConfig& config);
  void take_qwen3_vl(const VisionConfig& config);
  void take_patch_embed(const VisionConfig& config);
  void take_attention(const std::string& block, std::int64_t width);

  WeightSource source_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace vtower::oracle
