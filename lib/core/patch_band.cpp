#include "core/patch_band.h"

#include <array>
#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vtower {
namespace {

// The row of patch x, counted from that of patch 0.
std::int64_t row_of(const PatchBand& band, std::int64_t x) {
  return x / band.merge_size * band.merge_size * band.merge_size + x % band.merge_size;
}

}  // namespace

void put_patch_band_plain(const PatchBand& band) {
  const std::int64_t side = band.patch_size;
  for (std::int64_t patch = 0; patch < band.patches; ++patch) {
    const std::uint8_t* pixels = band.rgb + 3 * side * patch;
    for (std::int64_t c = 0; c < 3; ++c) {
      std::uint8_t* plane =
          band.first + row_of(band, patch) * band.row_width + c * band.channel_stride;
      for (std::int64_t copy = 0; copy < band.copies; ++copy, plane += side * side) {
        for (std::int64_t y = 0; y < side; ++y) {
          for (std::int64_t x = 0; x < side; ++x) {
            plane[y * side + x] = pixels[y * band.line_stride + 3 * x + c];
          }
        }
      }
    }
  }
}

#if defined(__x86_64__)
namespace {

// A patch's line of Size pixels is read as three vectors, the last one ending with it; a byte
// shuffle of each moves the bytes of one channel to their places.
template <int Size>
constexpr std::array<int, 3> load_offsets = {0, 16, 3 * Size - 16};

using Shuffles = std::array<std::array<std::array<std::int8_t, 16>, 3>, 3>;  // [channel][load]

template <int Size>
constexpr Shuffles make_shuffles() {
  Shuffles shuffles{};
  for (int c = 0; c < 3; ++c) {
    for (auto& shuffle : shuffles[static_cast<std::size_t>(c)]) shuffle.fill(-1);
    for (int x = 0; x < Size; ++x) {
      const int byte = 3 * x + c;
      const std::size_t load = byte < 16 ? 0 : byte < 32 ? 1 : 2;
      shuffles[static_cast<std::size_t>(c)][load][static_cast<std::size_t>(x)] =
          static_cast<std::int8_t>(byte - load_offsets<Size>[load]);
    }
  }
  return shuffles;
}

template <int Size>
constexpr Shuffles shuffles_of = make_shuffles<Size>();

// Exactly Size bytes: what follows may be written already.
template <int Size>
[[gnu::always_inline, gnu::target("avx2")]] inline void store_exactly(std::uint8_t* out,
                                                                      __m128i bytes) {
  if constexpr (Size == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  } else {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), bytes);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + Size - 8), _mm_srli_si128(bytes, Size - 8));
  }
}

// Brings the rows of a patch into the cache before they are written: they lie in no order that the
// CPU would foresee.
[[gnu::always_inline]] inline void prefetch_row(const std::uint8_t* row, std::int64_t width) {
  for (std::int64_t at = 0; at < width; at += 64) __builtin_prefetch(row + at, 1);
}

// One channel of a patch, in each copy of its plane. A store may run over into the lines that
// follow in the same plane, as they are written later.
template <int Size, int Copies>
[[gnu::always_inline, gnu::target("avx2")]] inline void put_plane(
    const std::uint8_t* pixels, std::int64_t line_stride, __m128i shuffle_a, __m128i shuffle_b,
    __m128i shuffle_c, std::uint8_t* plane) {
  for (int y = 0; y < Size; ++y, pixels += line_stride, plane += Size) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels + 3 * Size - 16));
    const __m128i bytes =
        _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, shuffle_a), _mm_shuffle_epi8(b, shuffle_b)),
                     _mm_shuffle_epi8(c, shuffle_c));
    for (int copy = 0; copy < Copies; ++copy) {
      std::uint8_t* out = plane + copy * Size * Size;
      if (y + 1 < Size) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
      } else {
        store_exactly<Size>(out, bytes);
      }
    }
  }
}

template <int Size, int Copies>
[[gnu::target("avx2")]] void put_patch_band_avx2(const PatchBand& band) {
  static_assert(Size > 8 && Size <= 16);
  __m128i shuffles[3][3];
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 3; ++i) {
      shuffles[c][i] =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(shuffles_of<Size>[c][i].data()));
    }
  }
  constexpr std::int64_t ahead = 4;
  for (std::int64_t x = 0; x < band.patches; ++x) {
    if (x + ahead < band.patches) {
      prefetch_row(band.first + row_of(band, x + ahead) * band.row_width, band.row_width);
    }
    const std::uint8_t* pixels = band.rgb + 3 * Size * x;
    std::uint8_t* plane = band.first + row_of(band, x) * band.row_width;
    for (std::size_t c = 0; c < 3; ++c, plane += band.channel_stride) {
      put_plane<Size, Copies>(pixels, band.line_stride, shuffles[c][0], shuffles[c][1],
                              shuffles[c][2], plane);
    }
  }
}

template <int Size>
bool put_vectorised(const PatchBand& band) {
  if (band.patch_size != Size || band.copies > 2) return false;
  band.copies == 1 ? put_patch_band_avx2<Size, 1>(band) : put_patch_band_avx2<Size, 2>(band);
  return true;
}

}  // namespace

void put_patch_band(const PatchBand& band) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2 && (put_vectorised<14>(band) || put_vectorised<16>(band))) return;
  put_patch_band_plain(band);
}
#else
void put_patch_band(const PatchBand& band) {
  put_patch_band_plain(band);
}
#endif

}  // namespace vtower
