// Token rows as compare code takes them: a span of bytes with its element type.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace vtower {

// `rows` tokens of `width` values, little-endian, of any alignment. dtype is f16, bf16, f32, f64,
// or u8 for pixels.
struct TokenRows {
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::span<const std::uint8_t> bytes;  // up to the end of the last row
  std::int64_t stride = 0;              // bytes from row to row; 0: contiguous

  // Bytes of the values of one row, and from one row to the next.
  [[nodiscard]] std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(width) * size_of(dtype);
  }
  [[nodiscard]] std::size_t step() const noexcept {
    return stride == 0 ? row_bytes() : static_cast<std::size_t>(stride);
  }

  [[nodiscard]] std::span<const std::uint8_t> row(std::int64_t index) const {
    return bytes.subspan(static_cast<std::size_t>(index) * step(), row_bytes());
  }

  // Tokens [first, first + count).
  [[nodiscard]] TokenRows slice(std::int64_t first, std::int64_t count) const {
    if (count == 0) return {dtype, 0, width, {}, stride};
    const std::size_t length = static_cast<std::size_t>(count - 1) * step() + row_bytes();
    return {dtype, count, width, bytes.subspan(static_cast<std::size_t>(first) * step(), length),
            stride};
  }
};

}  // namespace vtower
