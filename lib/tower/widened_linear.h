// Products in bf16 and fp16 on CPUs that have no instructions for them.
#pragma once

#include <ATen/core/Tensor.h>

namespace vtower {

// Whether this CPU multiplies matrices of the type natively; LibTorch emulates it elsewhere, many
// times slower than float32.
bool has_native_products(at::ScalarType type);

// x W^T + b of bf16 or fp16 tensors, block by block in float32: operands as they are, sums in
// float32, one rounding at the end. Temporary memory is a few MB.
at::Tensor widened_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace vtower
