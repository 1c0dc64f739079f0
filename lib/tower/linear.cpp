#include "tower/linear.h"

#include <ATen/ops/linear.h>

#include "tower/widened_linear.h"

namespace vtower {

Linear::Linear(WeightSource& weights, const std::string& name, std::int64_t in, std::int64_t out,
               const Placement& placement, Bias bias)
    : Linear(weights.take(name + ".weight", {out, in}),
             bias == Bias::present ? weights.take(name + ".bias", {out}) : at::Tensor(),
             placement) {}

Linear::Linear(const at::Tensor& weight, const at::Tensor& bias, const Placement& placement)
    : weight_(weight.to(placement.device, placement.scalar_type())),
      widened_(placement.device.is_cpu() && !has_native_products(placement.scalar_type())) {
  if (bias.defined()) bias_ = bias.to(placement.device, placement.scalar_type());
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return widened_ ? widened_linear(x, weight_, bias_) : at::linear(x, weight_, bias_);
}

}  // namespace vtower
