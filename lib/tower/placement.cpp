#include "tower/placement.h"

#include <cassert>

namespace vtower {

c10::ScalarType to_scalar_type(DType dtype) noexcept {
  assert(dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f64);
  if (dtype == DType::f64) return c10::kDouble;
  if (dtype == DType::bf16) return c10::kBFloat16;
  return dtype == DType::f16 ? c10::kHalf : c10::kFloat;
}

c10::ScalarType Placement::scalar_type() const noexcept {
  return to_scalar_type(dtype);
}

DType to_dtype(c10::ScalarType type) noexcept {
  switch (type) {
    case c10::ScalarType::BFloat16: return DType::bf16;
    case c10::ScalarType::Half: return DType::f16;
    case c10::ScalarType::Double: return DType::f64;
    case c10::ScalarType::Long: return DType::i64;
    default: assert(type == c10::ScalarType::Float); return DType::f32;
  }
}

}  // namespace vtower
