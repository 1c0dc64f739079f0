// y = x W^T + b.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "checkpoint/weight_source.h"
#include "tower/placement.h"

namespace vtower {

enum class Bias { none, present };

class Linear {
 public:
  // Takes `name`.weight [out, in] and, if present, `name`.bias [out].
  Linear(WeightSource& weights, const std::string& name, std::int64_t in, std::int64_t out,
         const Placement& placement, Bias bias = Bias::present);
  // From tensors already shaped [out, in] and [out] (or undefined).
  Linear(const at::Tensor& weight, const at::Tensor& bias, const Placement& placement);

  // [rows, in] -> [rows, out].
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  bool widened_;  // products through float32 blocks
};

}  // namespace vtower
