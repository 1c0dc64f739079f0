// Token rows as compare code takes them: a span of bytes with its element type.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace vtower {

// `rows` tokens of `width` values, row by row and little-endian, of any alignment. dtype is f16,
// bf16, f32 or f64. Rows may lie apart: some columns of a wider array are rows of a stride.
struct TokenRows {
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::span<const std::uint8_t> bytes;  // from the first byte of the first row to the last's end
  std::int64_t stride = 0;              // bytes from row to row; 0: the rows lie side by side

  [[nodiscard]] std::size_t row_bytes() const {  // of the values of one row
    return static_cast<std::size_t>(width) * size_of(dtype);
  }
  [[nodiscard]] std::size_t row_step() const {  // to the next row
    return stride == 0 ? row_bytes() : static_cast<std::size_t>(stride);
  }
  [[nodiscard]] bool is_contiguous() const { return rows <= 1 || row_step() == row_bytes(); }

  // The values of token `index`.
  [[nodiscard]] std::span<const std::uint8_t> row(std::int64_t index) const {
    return bytes.subspan(static_cast<std::size_t>(index) * row_step(), row_bytes());
  }

  // Tokens [first, first + count).
  [[nodiscard]] TokenRows slice(std::int64_t first, std::int64_t count) const {
    if (count == 0) return {dtype, 0, width, {}, stride};
    const std::size_t length = static_cast<std::size_t>(count - 1) * row_step() + row_bytes();
    return {dtype, count, width,
            bytes.subspan(static_cast<std::size_t>(first) * row_step(), length), stride};
  }

  // Values [first, first + count) of every token.
  [[nodiscard]] TokenRows columns(std::int64_t first, std::int64_t count) const {
    const auto step = static_cast<std::int64_t>(row_step());
    if (rows == 0) return {dtype, 0, count, {}, step};
    const std::size_t size = size_of(dtype);
    const std::size_t length =
        static_cast<std::size_t>(rows - 1) * row_step() + static_cast<std::size_t>(count) * size;
    return {dtype, rows, count, bytes.subspan(static_cast<std::size_t>(first) * size, length),
            step};
  }
};

}  // namespace vtower
