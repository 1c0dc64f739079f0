// Patches to tokens: merge_size^2 neighbouring rows become one.
#pragma once

#include <string>

#include "checkpoint/vision_config.h"
#include "tower/activation.h"
#include "tower/linear.h"
#include "tower/norms.h"

namespace vtower {

// Names below the merger: they differ between families.
struct MergerNames {
  std::string norm;
  std::string up;
  std::string down;
};

// down(act(up(join(norm(x))))) or down(act(up(norm(join(x))))). Norm: LayerNorm or RmsNorm.
template <typename Norm>
class PatchMerger {
 public:
  PatchMerger(WeightSource& weights, const std::string& name, const MergerNames& names,
              const VisionConfig& config, const Placement& placement, MergerNorm norm_place)
      : joined_(config.width * config.layout.merge_size * config.layout.merge_size),
        norm_place_(norm_place),
        activation_(config.merger_act),
        norm_(weights, name + "." + names.norm,
              norm_place == MergerNorm::per_patch ? config.width : joined_, config.norm_eps,
              placement),
        up_(weights, name + "." + names.up, joined_, joined_, placement),
        down_(weights, name + "." + names.down, joined_, config.out_width, placement) {}

  // [N, D] -> [N / merge_size^2, out].
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const {
    const at::Tensor tokens = norm_place_ == MergerNorm::per_patch ? norm_(x).view({-1, joined_})
                                                                   : norm_(x.view({-1, joined_}));
    return down_(activate(activation_, up_(tokens)));
  }

 private:
  std::int64_t joined_;
  MergerNorm norm_place_;
  Activation activation_;
  Norm norm_;
  Linear up_;
  Linear down_;
};

}  // namespace vtower
