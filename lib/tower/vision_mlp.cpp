#include "tower/vision_mlp.h"

#include "tower/activation.h"

namespace vtower {

PlainMlp::PlainMlp(WeightSource& weights, const std::string& block, const PlainMlpNames& names,
                   const VisionConfig& config, const Placement& placement)
    : up_(weights, block + ".mlp." + names.up, config.width, config.mlp_width, placement),
      down_(weights, block + ".mlp." + names.down, config.mlp_width, config.width, placement),
      activation_(config.hidden_act) {}

at::Tensor PlainMlp::operator()(const at::Tensor& x) const {
  return down_(activate(activation_, up_(x)));
}

GatedMlp::GatedMlp(WeightSource& weights, const std::string& block, const VisionConfig& config,
                   const Placement& placement)
    : gate_(weights, block + ".mlp.gate_proj", config.width, config.mlp_width, placement),
      up_(weights, block + ".mlp.up_proj", config.width, config.mlp_width, placement),
      down_(weights, block + ".mlp.down_proj", config.mlp_width, config.width, placement),
      activation_(config.hidden_act) {}

at::Tensor GatedMlp::operator()(const at::Tensor& x) const {
  return down_(activate(activation_, gate_(x)).mul_(up_(x)));
}

}  // namespace vtower
