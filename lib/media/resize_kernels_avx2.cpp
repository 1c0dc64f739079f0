#include "media/resize_kernels_avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

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

// What two lanes of pixels, four taps each, add to their sums: per lane red, green, blue, nothing.
VTOWER_AVX2 [[gnu::always_inline]] inline __m256i four_taps(const std::uint8_t* low,
                                                            const std::uint8_t* high,
                                                            const std::int16_t* weights) {
  // Taps 0, 1 and 2, 3 of each channel as pairs of 16 bits: r0 r1 g0 g1 b0 b1 - -.
  const __m256i taps01 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i taps23 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  // The weights of taps 0, 1 and 2, 3: bytes 0..7 of the low pixel, 8..15 of the high one.
  const __m256i weights01 =
      _mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, -1, -1, -1, -1,  //
                       8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, -1, -1, -1, -1);
  const __m256i weights23 =
      _mm256_setr_epi8(4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, -1, -1, -1, -1,  //
                       12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, -1, -1, -1, -1);
  const __m256i pixels = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
  const __m256i both =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
  return _mm256_add_epi32(
      _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, taps01), _mm256_shuffle_epi8(both, weights01)),
      _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, taps23), _mm256_shuffle_epi8(both, weights23)));
}

}  // namespace

VTOWER_AVX2 std::int64_t resize_line(const std::uint8_t* in, const AxisWeights& axis,
                                     std::uint8_t* out) {
  // A pixel reads stride taps and 4 bytes more, up to line_slack bytes behind the line's end.
  std::int64_t end = axis.target;
  while (end > 0 && axis.first[static_cast<std::size_t>(end - 1)] + axis.stride > axis.source + 8) {
    --end;
  }
  const __m256i half = _mm256_set1_epi32(1 << (axis.precision - 1));
  const __m256i shift = _mm256_set1_epi32(axis.precision);
  const __m256i drop_fourth = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const std::int16_t* weights = axis.paired16.data();
  std::int64_t i = 0;
  for (; i + 8 <= end; i += 8) {
    const std::int32_t* first = axis.first.data() + i;
    const std::uint8_t* pixel[8];
    for (int k = 0; k < 8; ++k) pixel[k] = in + 3 * std::int64_t{first[k]};
    __m256i sum[4] = {half, half, half, half};
    for (std::int64_t j = 0; j < axis.stride; j += 4) {
      for (int k = 0; k < 4; ++k, weights += 8) {
        sum[k] =
            _mm256_add_epi32(sum[k], four_taps(pixel[k] + 3 * j, pixel[k + 4] + 3 * j, weights));
      }
    }
    for (__m256i& value : sum) value = _mm256_srav_epi32(value, shift);
    const __m256i bytes = _mm256_shuffle_epi8(
        _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]), _mm256_packs_epi32(sum[2], sum[3])),
        drop_fourth);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i), _mm256_castsi256_si128(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i + 12),
                     _mm256_extracti128_si256(bytes, 1));
  }
  return i;
}

VTOWER_AVX2 std::size_t combine_lines(std::span<const std::uint8_t* const> lines,
                                      const std::int16_t* weights, int precision, std::size_t bytes,
                                      std::uint8_t* out) {
  const __m256i half = _mm256_set1_epi32(1 << (precision - 1));
  const __m256i shift = _mm256_set1_epi32(precision);
  const __m256i zero = _mm256_setzero_si256();
  std::size_t b = 0;
  for (; b + 32 <= bytes; b += 32) {
    __m256i sum0 = half;
    __m256i sum1 = half;
    __m256i sum2 = half;
    __m256i sum3 = half;
    for (std::size_t j = 0; j < lines.size(); j += 2) {
      // The weight of a missing second line is zero (AxisWeights pads), so its bytes do not matter.
      const std::uint8_t* second_line = j + 1 < lines.size() ? lines[j + 1] : lines[j];
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lines[j] + b));
      const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second_line + b));
      const __m256i pair = _mm256_set1_epi32(weight_pair(weights + j));
      const __m256i low = _mm256_unpacklo_epi8(first, second);
      const __m256i high = _mm256_unpackhi_epi8(first, second);
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), pair));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), pair));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), pair));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), pair));
    }
    const __m256i low =
        _mm256_packs_epi32(_mm256_srav_epi32(sum0, shift), _mm256_srav_epi32(sum1, shift));
    const __m256i high =
        _mm256_packs_epi32(_mm256_srav_epi32(sum2, shift), _mm256_srav_epi32(sum3, shift));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + b), _mm256_packus_epi16(low, high));
  }
  return b;
}

}  // namespace vtower::avx2

#endif
