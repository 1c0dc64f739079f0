// The two inner loops of a resize, plain and vectorised; tests hold them bit for bit equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/resize_weights.h"

namespace vtower {

// Bytes after the end of every line given to or written by a kernel that may be touched: read and
// not used, or overwritten with anything.
inline constexpr std::size_t line_slack = 32;

enum class CpuLevel { plain, avx2, vnni };  // each has what the ones before it have

// The best level that this CPU runs.
CpuLevel best_cpu_level() noexcept;

// Two RGB lines of axis.source pixels to axis.target pixels. They share the work on weights; the
// second may be the first once more.
void resize_two_lines(const std::uint8_t* first, const std::uint8_t* second,
                      const AxisWeights& axis, CpuLevel level, std::uint8_t* first_out,
                      std::uint8_t* second_out);

// Byte b of `out` from byte b of the axis.count[i] lines that output i of `axis` is made of.
void combine_lines(std::span<const std::uint8_t* const> lines, const AxisWeights& axis,
                   std::int64_t i, std::size_t bytes, CpuLevel level, std::uint8_t* out);

}  // namespace vtower
