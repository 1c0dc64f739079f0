// The vectorised forms of media/resize_kernels.h, for weights of 16 bits. Call only where the CPU
// has AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/resize_weights.h"

namespace vtower::avx2 {

// Returns how many pixels were done, from the left; the rest would read too far beyond the line.
std::int64_t resize_line(const std::uint8_t* in, const AxisWeights& axis, std::uint8_t* out);

// Returns how many bytes were done, from the left.
std::size_t combine_lines(std::span<const std::uint8_t* const> lines, const std::int16_t* weights,
                          int precision, std::size_t bytes, std::uint8_t* out);

}  // namespace vtower::avx2
