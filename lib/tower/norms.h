// LayerNorm and RMSNorm over the last dimension, statistics in float32.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "checkpoint/weight_source.h"
#include "tower/placement.h"

namespace vtower {

class LayerNorm {
 public:
  LayerNorm(WeightSource& weights, const std::string& name, std::int64_t width, double eps,
            const Placement& placement);
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  double eps_;
};

// x * rsqrt(mean(x^2) + eps) in float32, cast to the working dtype, then times the weight
// (Qwen2RMSNorm of transformers 5.17.0).
class RmsNorm {
 public:
  RmsNorm(WeightSource& weights, const std::string& name, std::int64_t width, double eps,
          const Placement& placement);
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  double eps_;
};

}  // namespace vtower
