// The activations that a configuration can name.
#pragma once

#include <ATen/core/Tensor.h>

#include "checkpoint/vision_config.h"

namespace vtower {

// quick_gelu: u * sigmoid(1.702 u); gelu: the exact one (erf); gelu_tanh: its tanh form; silu.
// Works in place where it can and returns the result; `x` must not be used afterwards.
[[nodiscard]] at::Tensor activate(Activation activation, at::Tensor x);

}  // namespace vtower
