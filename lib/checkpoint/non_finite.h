// NaN and infinity in stored weights: the sign of a damaged download.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace vtower {

struct NonFiniteCount {
  std::size_t nan = 0;
  std::size_t infinite = 0;
};

// Of little-endian f32, bf16 or f16 elements at any alignment. Thread-safe.
NonFiniteCount count_non_finite(std::span<const std::uint8_t> bytes, DType type);

}  // namespace vtower
