// Where a tower lives and in which element type it computes.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "core/dtype.h"

namespace vtower {

struct Placement {
  DType dtype = DType::f32;  // f32, bf16 or f16; f64 on a CPU, for what others are measured by
  c10::Device device = c10::kCPU;

  [[nodiscard]] c10::ScalarType scalar_type() const noexcept;
};

// For the types that a tower runs in; asserts on others.
c10::ScalarType to_scalar_type(DType dtype) noexcept;

// The other way, for what a tower's outputs are made of: also f64 and i64.
DType to_dtype(c10::ScalarType type) noexcept;

}  // namespace vtower
