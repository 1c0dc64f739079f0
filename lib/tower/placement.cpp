#include "tower/placement.h"

#include <cassert>

namespace vtower {

c10::ScalarType to_scalar_type(DType dtype) noexcept {
  assert(dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16);
  if (dtype == DType::bf16) return c10::kBFloat16;
  return dtype == DType::f16 ? c10::kHalf : c10::kFloat;
}

c10::ScalarType Placement::scalar_type() const noexcept {
  return to_scalar_type(dtype);
}

}  // namespace vtower
