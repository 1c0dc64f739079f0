// Reference tensors as LibTorch sees them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "core/safetensors.h"

namespace vtower::test {

inline at::Tensor to_tensor(const TensorView& view) {
  const auto type = [&] {
    switch (view.dtype.value()) {
      case DType::bf16: return at::kBFloat16;
      case DType::f16: return at::kHalf;
      case DType::f32: return at::kFloat;
      case DType::f64: return at::kDouble;
      case DType::i64: return at::kLong;
      case DType::u8: return at::kByte;
      default: throw std::runtime_error("unexpected type in reference data");
    }
  }();
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(type));
  std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

inline at::Tensor load_tensor(const SafetensorsFile& file, const std::string& name) {
  const TensorView* view = file.find(name);
  if (view == nullptr) throw std::runtime_error(file.path().string() + " has no " + name);
  return to_tensor(*view);
}

// ||a - b|| / ||b|| over the whole tensor, in float64; NaN where a value is no number.
inline double relative_error(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor reference = b.to(at::kDouble);
  return at::linalg_vector_norm(a.to(at::kDouble).sub(reference)).item<double>() /
         at::linalg_vector_norm(reference).item<double>();
}

}  // namespace vtower::test
