// Token rows made of numbers, in any element type, alignment and stride.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "check/token_rows.h"

namespace vtower::test {

// The nearest value of the type, as its bits; halves to even.
inline std::uint16_t to_bfloat(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

inline std::uint16_t to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000U : 0U;
  const double size = std::abs(value);
  if (std::isnan(value)) return 0x7e00U | sign;
  if (size >= 65520) return 0x7c00U | sign;
  const int exponent = std::max(size == 0 ? -14 : std::ilogb(size), -14);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // A number of full precision has 1024 or more steps; its leading one adds the exponent's last.
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + steps));
}

class Rows {
 public:
  struct Layout {
    std::size_t offset = 0;   // bytes before the first row
    std::size_t padding = 0;  // bytes after each row
  };

  Rows(DType dtype, std::int64_t width, const std::vector<double>& values)
      : Rows(dtype, width, values, Layout{}) {}
  Rows(DType dtype, std::int64_t width, const std::vector<double>& values, Layout layout)
      : dtype_(dtype),
        width_(width),
        rows_(static_cast<std::int64_t>(values.size()) / width),
        layout_(layout),
        bytes_(layout.offset + static_cast<std::size_t>(rows_) * step(), 0xff) {
    for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }

  void set(std::size_t index, double value) {
    const std::size_t size = size_of(dtype_);
    const auto width = static_cast<std::size_t>(width_);
    std::uint8_t* to =
        bytes_.data() + layout_.offset + index / width * step() + index % width * size;
    const auto put = [&](auto stored) { std::memcpy(to, &stored, sizeof stored); };
    switch (dtype_) {
      case DType::f16: return put(to_half(value));
      case DType::bf16: return put(to_bfloat(value));
      case DType::f32: return put(static_cast<float>(value));
      case DType::u8: return put(static_cast<std::uint8_t>(value));
      default: return put(value);
    }
  }

  [[nodiscard]] TokenRows view() const {
    const std::int64_t stride = layout_.padding == 0 ? 0 : static_cast<std::int64_t>(step());
    const std::size_t length =
        rows_ == 0 ? 0 : static_cast<std::size_t>(rows_) * step() - layout_.padding;
    return {dtype_, rows_, width_, std::span(bytes_).subspan(layout_.offset, length), stride};
  }

 private:
  [[nodiscard]] std::size_t step() const {
    return static_cast<std::size_t>(width_) * size_of(dtype_) + layout_.padding;
  }

  DType dtype_;
  std::int64_t width_;
  std::int64_t rows_;
  Layout layout_;
  std::vector<std::uint8_t> bytes_;
};

// Numbers like embeddings.
inline std::vector<double> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

}  // namespace vtower::test
