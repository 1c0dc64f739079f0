#include "media/resize_kernels_avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define VTOWER_AVX2 __attribute__((target("avx2")))

namespace vtower::avx2 {
namespace {

// The 32 bits of two neighbouring 16-bit weights.
std::int32_t weight_pair(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof(pair));
  return pair;
}

// What four taps of one pixel in two lines (a lane each) add to its sums: per lane red, green,
// blue, nothing.
[[gnu::always_inline]] VTOWER_AVX2 inline __m256i four_taps(const std::uint8_t* low,
                                                            const std::uint8_t* high,
                                                            const std::int16_t* weights) {
  // Taps 0, 1 and 2, 3 of each channel as pairs of 16 bits: r0 r1 g0 g1 b0 b1 - -.
  const __m256i taps01 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i taps23 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  const __m256i pixels = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
  return _mm256_add_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(pixels, taps01),
                                            _mm256_set1_epi32(weight_pair(weights))),
                          _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, taps23),
                                            _mm256_set1_epi32(weight_pair(weights + 2))));
}

// FourTaps: the common case of axis.stride == 4, without a loop over the taps.
template <bool FourTaps>
VTOWER_AVX2 std::int64_t resize_two_lines_of(const std::uint8_t* low, const std::uint8_t* high,
                                             const AxisWeights& axis, std::uint8_t* low_out,
                                             std::uint8_t* high_out) {
  // A pixel reads stride taps and 4 bytes more, up to line_slack bytes behind the line's end.
  std::int64_t end = axis.target;
  while (end > 0 && axis.first[static_cast<std::size_t>(end - 1)] + axis.stride > axis.source + 8) {
    --end;
  }
  const __m256i half = _mm256_set1_epi32(1 << (axis.precision - 1));
  const __m256i shift = _mm256_set1_epi32(axis.precision);
  const __m256i drop_fourth = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const std::int64_t stride = FourTaps ? 4 : axis.stride;
  const std::int16_t* weights = axis.weights16.data();
  const std::int32_t* first_byte = axis.first_byte.data();
  std::int64_t i = 0;
  for (; i + 4 <= end; i += 4, first_byte += 4) {
    __m256i sum[4];
    for (int k = 0; k < 4; ++k, weights += stride) {
      const std::int64_t byte = first_byte[k];
      sum[k] = _mm256_add_epi32(half, four_taps(low + byte, high + byte, weights));
      for (std::int64_t j = 4; j < stride; j += 4) {
        sum[k] = _mm256_add_epi32(sum[k],
                                  four_taps(low + byte + 3 * j, high + byte + 3 * j, weights + j));
      }
      sum[k] = _mm256_srav_epi32(sum[k], shift);
    }
    const __m256i bytes = _mm256_shuffle_epi8(
        _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]), _mm256_packs_epi32(sum[2], sum[3])),
        drop_fourth);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low_out + 3 * i), _mm256_castsi256_si128(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(high_out + 3 * i),
                     _mm256_extracti128_si256(bytes, 1));
  }
  return i;
}

// Pairs: how many pairs of lines are combined; 0 for any number.
template <std::size_t Pairs>
VTOWER_AVX2 std::size_t combine_pairs(std::span<const std::uint8_t* const> lines,
                                      const std::int16_t* weights, int precision, std::size_t bytes,
                                      std::uint8_t* out) {
  const __m256i half = _mm256_set1_epi32(1 << (precision - 1));
  const __m256i shift = _mm256_set1_epi32(precision);
  const __m256i zero = _mm256_setzero_si256();
  const std::size_t pairs = Pairs != 0 ? Pairs : (lines.size() + 1) / 2;
  // The weight of a missing last line is zero (AxisWeights pads), so its bytes do not matter.
  const auto line = [&](std::size_t j) { return lines[std::min(j, lines.size() - 1)]; };
  const std::uint8_t* known_lines[2 * Pairs + 1];
  __m256i known_weights[Pairs + 1];
  for (std::size_t j = 0; j < Pairs; ++j) {
    known_lines[2 * j] = line(2 * j);
    known_lines[2 * j + 1] = line(2 * j + 1);
    known_weights[j] = _mm256_set1_epi32(weight_pair(weights + 2 * j));
  }
  std::size_t b = 0;
  for (; b + 32 <= bytes; b += 32) {
    __m256i sum[4] = {half, half, half, half};
    for (std::size_t j = 0; j < pairs; ++j) {
      const std::uint8_t* first_line = Pairs != 0 ? known_lines[2 * j] : line(2 * j);
      const std::uint8_t* second_line = Pairs != 0 ? known_lines[2 * j + 1] : line(2 * j + 1);
      const __m256i pair =
          Pairs != 0 ? known_weights[j] : _mm256_set1_epi32(weight_pair(weights + 2 * j));
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first_line + b));
      const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second_line + b));
      const __m256i low = _mm256_unpacklo_epi8(first, second);
      const __m256i high = _mm256_unpackhi_epi8(first, second);
      const __m256i part[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                               _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
      for (int k = 0; k < 4; ++k) {
        sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(part[k], pair));
      }
    }
    for (__m256i& value : sum) value = _mm256_srav_epi32(value, shift);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + b),
                        _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]),
                                            _mm256_packs_epi32(sum[2], sum[3])));
  }
  return b;
}

}  // namespace

std::int64_t resize_two_lines(const std::uint8_t* low, const std::uint8_t* high,
                              const AxisWeights& axis, std::uint8_t* low_out,
                              std::uint8_t* high_out) {
  return axis.stride == 4 ? resize_two_lines_of<true>(low, high, axis, low_out, high_out)
                          : resize_two_lines_of<false>(low, high, axis, low_out, high_out);
}

std::size_t combine_lines(std::span<const std::uint8_t* const> lines, const std::int16_t* weights,
                          int precision, std::size_t bytes, std::uint8_t* out) {
  switch ((lines.size() + 1) / 2) {
    case 1: return combine_pairs<1>(lines, weights, precision, bytes, out);
    case 2: return combine_pairs<2>(lines, weights, precision, bytes, out);
    case 3: return combine_pairs<3>(lines, weights, precision, bytes, out);
    default: return combine_pairs<0>(lines, weights, precision, bytes, out);
  }
}

}  // namespace vtower::avx2

#endif
