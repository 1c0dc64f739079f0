#include "tower/norms.h"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/square.h>

namespace vtower {

LayerNorm::LayerNorm(WeightSource& weights, const std::string& name, std::int64_t width, double eps,
                     const Placement& placement)
    : weight_(
          weights.take(name + ".weight", {width}).to(placement.device, placement.scalar_type())),
      bias_(weights.take(name + ".bias", {width}).to(placement.device, placement.scalar_type())),
      eps_(eps) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, weight_.sizes(), weight_, bias_, eps_);
}

RmsNorm::RmsNorm(WeightSource& weights, const std::string& name, std::int64_t width, double eps,
                 const Placement& placement)
    : weight_(
          weights.take(name + ".weight", {width}).to(placement.device, placement.scalar_type())),
      eps_(eps) {}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  const at::Tensor wide = x.to(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const at::Tensor scale = at::rsqrt(at::mean(at::square(wide), -1, true).add_(eps_));
  return wide.mul(scale).to(x.scalar_type()).mul_(weight_);
}

}  // namespace vtower
