// One transformer block: h += attn(norm1(h)); h += mlp(norm2(h)).
#pragma once

#include <string>
#include <utility>

#include "tower/plan_tensors.h"
#include "tower/rotary.h"
#include "tower/stage_trace.h"
#include "tower/vision_attention.h"

namespace vtower {

// Norm: LayerNorm or RmsNorm; Mlp: PlainMlp or GatedMlp.
template <typename Norm, typename Mlp>
class VisionBlock {
 public:
  VisionBlock(WeightSource& weights, const std::string& name, const VisionConfig& config,
              const Placement& placement, Mlp mlp)
      : name_(name.substr(0, 5) + name.substr(6)),
        norm1_(weights, name + ".norm1", config.width, config.norm_eps, placement),
        norm2_(weights, name + ".norm2", config.width, config.norm_eps, placement),
        attention_(weights, name, config, placement),
        mlp_(std::move(mlp)) {}

  // Adds to `h` [N, D] in place; the residual is kept in the tower's dtype.
  void operator()(at::Tensor& h, const Sequences& sequences, const Rotation& rotation,
                  const StageTrace& trace) const {
    const auto add = [&](const std::string& branch, const at::Tensor& value) {
      trace(branch, value);
      h.add_(value);
    };
    add(name_ + ".attn", attention_(norm1_(h), sequences, rotation));
    add(name_ + ".mlp", mlp_(norm2_(h)));
    trace(name_, h);
  }

 private:
  std::string name_;  // of the stage: "block.7"
  Norm norm1_;
  Norm norm2_;
  VisionAttention attention_;
  Mlp mlp_;
};

}  // namespace vtower
