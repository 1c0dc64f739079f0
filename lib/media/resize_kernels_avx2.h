// The vectorised forms of media/resize_kernels.h, for weights of 16 bits. Call only where the CPU
// has AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/resize_weights.h"

namespace vtower::avx2 {

// Returns how many pixels were done, from the left; the rest would read too far beyond the lines.
std::int64_t resize_two_lines(const std::uint8_t* low, const std::uint8_t* high,
                              const AxisWeights& axis, std::uint8_t* low_out,
                              std::uint8_t* high_out);

// Returns how many bytes were done, from the left.
std::size_t combine_lines(std::span<const std::uint8_t* const> lines, const std::int16_t* weights,
                          int precision, std::size_t bytes, std::uint8_t* out);

}  // namespace vtower::avx2
