// Token rows as compare code takes them: a span of bytes with its element type.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace vtower {

// `rows` tokens of `width` values, row-major and little-endian, of any alignment. dtype is f16,
// bf16, f32 or f64.
struct TokenRows {
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::span<const std::uint8_t> bytes;  // rows * width * size_of(dtype)

  // Tokens [first, first + count).
  [[nodiscard]] TokenRows slice(std::int64_t first, std::int64_t count) const {
    const std::size_t row = static_cast<std::size_t>(width) * size_of(dtype);
    return {dtype, count, width,
            bytes.subspan(static_cast<std::size_t>(first) * row,
                          static_cast<std::size_t>(count) * row)};
  }
};

}  // namespace vtower
