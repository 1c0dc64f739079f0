// The vectorised forms of media/resize_kernels.h, for weights of 16 bits. All give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/resize_weights.h"

namespace vtower {

// Call only where the CPU has AVX2.
namespace avx2 {

// Returns how many pixels were done, from the left; the rest would read too far beyond the lines.
std::int64_t resize_two_lines(const std::uint8_t* low, const std::uint8_t* high,
                              const AxisWeights& axis, std::uint8_t* low_out,
                              std::uint8_t* high_out);

void combine_lines(std::span<const std::uint8_t* const> lines, const std::int16_t* weights,
                   int precision, std::size_t bytes, std::uint8_t* out);

}  // namespace avx2

// The same with products and sums in one instruction. Call only where the CPU has AVX-512 VL and
// VNNI.
namespace vnni {

std::int64_t resize_two_lines(const std::uint8_t* low, const std::uint8_t* high,
                              const AxisWeights& axis, std::uint8_t* low_out,
                              std::uint8_t* high_out);
void combine_lines(std::span<const std::uint8_t* const> lines, const std::int16_t* weights,
                   int precision, std::size_t bytes, std::uint8_t* out);

}  // namespace vnni

}  // namespace vtower
