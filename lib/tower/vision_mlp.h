// The two feed-forward forms of the towers.
#pragma once

#include <string>

#include "checkpoint/vision_config.h"
#include "checkpoint/weight_source.h"
#include "tower/linear.h"

namespace vtower {

// Names of the projections below the block: they differ between families.
struct PlainMlpNames {
  std::string up;
  std::string down;
};

// down(act(up(x))).
class PlainMlp {
 public:
  PlainMlp(WeightSource& weights, const std::string& block, const PlainMlpNames& names,
           const VisionConfig& config, const Placement& placement);
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;  // [N, D] -> [N, D]

 private:
  Linear up_;
  Linear down_;
  Activation activation_;
};

// down(act(gate(x)) * up(x)), with biases (qwen2_5_vl).
class GatedMlp {
 public:
  GatedMlp(WeightSource& weights, const std::string& block, const VisionConfig& config,
           const Placement& placement);
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;  // [N, D] -> [N, D]

 private:
  Linear gate_;
  Linear up_;
  Linear down_;
  Activation activation_;
};

}  // namespace vtower
