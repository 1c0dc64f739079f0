#include "tower/activation.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

namespace vtower {

at::Tensor activate(Activation activation, at::Tensor x) {
  switch (activation) {
    case Activation::quick_gelu: return x.mul_(at::mul(x, 1.702).sigmoid_());
    case Activation::silu: return at::silu_(x);
    case Activation::gelu: return at::gelu_(x, "none");
    case Activation::gelu_tanh: return at::gelu_(x, "tanh");
  }
  return x;
}

}  // namespace vtower
