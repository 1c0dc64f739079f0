#include "checkpoint/non_finite.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace vtower {
namespace {

// A value is not finite when all bits of its exponent are set; `infinity` holds just these.
template <typename Bits>
NonFiniteCount count(std::span<const std::uint8_t> bytes, Bits infinity) {
  constexpr std::size_t chunk = 4096;
  constexpr Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
  std::array<Bits, chunk> values;
  NonFiniteCount result;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = std::min(chunk, (bytes.size() - at) / sizeof(Bits));
    if (count == 0) break;
    std::memcpy(values.data(), bytes.data() + at, count * sizeof(Bits));
    at += count * sizeof(Bits);
    Bits largest = 0;  // the common case in one branchless pass
    for (std::size_t i = 0; i < count; ++i) {
      largest = std::max(largest, static_cast<Bits>(values[i] & magnitude));
    }
    if (largest < infinity) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<Bits>(values[i] & magnitude);
      result.infinite += value == infinity;
      result.nan += value > infinity;
    }
  }
  return result;
}

}  // namespace

NonFiniteCount count_non_finite(std::span<const std::uint8_t> bytes, DType type) {
  switch (type) {
    case DType::f32: return count<std::uint32_t>(bytes, 0x7f800000u);
    case DType::bf16: return count<std::uint16_t>(bytes, 0x7f80u);
    case DType::f16: return count<std::uint16_t>(bytes, 0x7c00u);
    default: assert(false && "only floating point weights are scanned"); return {};
  }
}

}  // namespace vtower
