#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "media/resize_kernels_simd.h"

#define VTOWER_TARGET __attribute__((target("avx2")))

namespace vtower::avx2 {
namespace {

[[gnu::always_inline]] VTOWER_TARGET inline __m256i add_products(__m256i sum, __m256i a,
                                                                 __m256i b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

}  // namespace

#include "media/resize_kernels_simd.inc"

}  // namespace vtower::avx2

#endif
