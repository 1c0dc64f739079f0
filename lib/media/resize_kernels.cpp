#include "media/resize_kernels.h"

#include <algorithm>
#include <cassert>

#include "media/resize_kernels_simd.h"

namespace vtower {
namespace {

std::uint8_t to_byte(std::int32_t sum, int precision) {
  return static_cast<std::uint8_t>(std::clamp(sum >> precision, 0, 255));
}

}  // namespace

CpuLevel best_cpu_level() noexcept {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  static const bool vnni =
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  return vnni ? CpuLevel::vnni : avx2 ? CpuLevel::avx2 : CpuLevel::plain;
#else
  return CpuLevel::plain;
#endif
}

namespace plain {

void resize_line(const std::uint8_t* in, const AxisWeights& axis, std::int64_t begin,
                 std::uint8_t* out) {
  const std::int32_t half = 1 << (axis.precision - 1);
  for (std::int64_t i = begin; i < axis.target; ++i) {
    const std::int32_t* weights = axis.weights.data() + i * axis.stride;
    const std::int32_t count = axis.count[static_cast<std::size_t>(i)];
    const std::uint8_t* pixel = in + 3 * std::int64_t{axis.first[static_cast<std::size_t>(i)]};
    std::int32_t red = half;
    std::int32_t green = half;
    std::int32_t blue = half;
    for (std::int32_t j = 0; j < count; ++j, pixel += 3) {
      red += pixel[0] * weights[j];
      green += pixel[1] * weights[j];
      blue += pixel[2] * weights[j];
    }
    out[3 * i] = to_byte(red, axis.precision);
    out[3 * i + 1] = to_byte(green, axis.precision);
    out[3 * i + 2] = to_byte(blue, axis.precision);
  }
}

void combine_lines(std::span<const std::uint8_t* const> lines, const std::int32_t* weights,
                   int precision, std::size_t bytes, std::uint8_t* out) {
  for (std::size_t b = 0; b < bytes; ++b) {
    std::int32_t sum = 1 << (precision - 1);
    for (std::size_t j = 0; j < lines.size(); ++j) sum += lines[j][b] * weights[j];
    out[b] = to_byte(sum, precision);
  }
}

}  // namespace plain

void resize_two_lines(const std::uint8_t* first, const std::uint8_t* second,
                      const AxisWeights& axis, CpuLevel level, std::uint8_t* first_out,
                      std::uint8_t* second_out) {
  std::int64_t done = 0;
#if defined(__x86_64__)
  if (level != CpuLevel::plain && !axis.weights16.empty()) {
    const auto kernel = level == CpuLevel::vnni ? vnni::resize_two_lines : avx2::resize_two_lines;
    done = kernel(first, second, axis, first_out, second_out);
  }
#endif
  plain::resize_line(first, axis, done, first_out);
  plain::resize_line(second, axis, done, second_out);
}

void combine_lines(std::span<const std::uint8_t* const> lines, const AxisWeights& axis,
                   std::int64_t i, std::size_t bytes, CpuLevel level, std::uint8_t* out) {
  assert(lines.size() == static_cast<std::size_t>(axis.count[static_cast<std::size_t>(i)]));
#if defined(__x86_64__)
  if (level != CpuLevel::plain && !axis.weights16.empty()) {
    const auto kernel = level == CpuLevel::vnni ? vnni::combine_lines : avx2::combine_lines;
    kernel(lines, axis.weights16.data() + i * axis.stride, axis.precision, bytes, out);
    return;
  }
#endif
  plain::combine_lines(lines, axis.weights.data() + i * axis.stride, axis.precision, bytes, out);
}

}  // namespace vtower
