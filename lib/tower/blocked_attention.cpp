#include "tower/blocked_attention.h"

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vtower {

#if defined(__x86_64__)

namespace {

using Bf16 = c10::BFloat16;

constexpr std::int64_t query_rows = 128;  // of a block
constexpr std::int64_t key_rows = 512;
constexpr std::int64_t panel = 64;  // columns of a packed operand
constexpr std::int64_t least_panel = 16;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Second operands as the products want them: pairs of rows interleaved, in panels of columns.
struct PackedHead {
  std::vector<Bf16> keys;    // k^T: [keys / 64][head_dim / 2][64][2]
  std::vector<Bf16> values;  // [columns / 64, the last may be narrower][keys / 2][columns][2]
};

class Attention {
 public:
  Attention(const at::Tensor& qkv, const at::Tensor& out)
      : rows_(qkv.size(0)),
        heads_(qkv.size(2)),
        dim_(qkv.size(3)),
        stride_(3 * heads_ * dim_),
        keys_(round_up(rows_, panel)),
        columns_(round_up(dim_, least_panel)),
        scale_(static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(dim_)))),
        qkv_(qkv.const_data_ptr<Bf16>()),
        out_(out.mutable_data_ptr<Bf16>()),
        packed_(static_cast<std::size_t>(heads_)) {}

  void run() {
    at::parallel_for(0, heads_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t head = begin; head < end; ++head) pack(head);
    });
    const std::int64_t blocks = (rows_ + query_rows - 1) / query_rows;
    at::parallel_for(0, heads_ * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch(dim_, columns_);
      for (std::int64_t i = begin; i < end; ++i) {
        attend(i / blocks, i % blocks * query_rows, scratch);
      }
      at::native::cpublas::brgemm_release();
    });
  }

 private:
  struct Scratch {
    Scratch(std::int64_t dim, std::int64_t columns)
        : queries(static_cast<std::size_t>(query_rows * dim)),
          scores(query_rows * key_rows),
          probabilities(query_rows * key_rows),
          sums(static_cast<std::size_t>(query_rows * columns)),
          largest(query_rows),
          total(query_rows) {}
    std::vector<Bf16> queries;
    std::vector<float> scores;
    std::vector<Bf16> probabilities;
    std::vector<float> sums;     // of values, [query_rows, columns]
    std::vector<float> largest;  // score so far, times the scale
    std::vector<float> total;    // of probabilities
  };

  void pack(std::int64_t head) {
    PackedHead& packed = packed_[static_cast<std::size_t>(head)];
    packed.keys.assign(static_cast<std::size_t>(keys_ * dim_), Bf16(0));
    packed.values.assign(static_cast<std::size_t>(keys_ * columns_), Bf16(0));
    const Bf16* key = qkv_ + (heads_ + head) * dim_;
    const Bf16* value = qkv_ + (2 * heads_ + head) * dim_;
    for (std::int64_t row = 0; row < rows_; ++row, key += stride_, value += stride_) {
      Bf16* keys = packed.keys.data() + row / panel * panel * dim_ + row % panel * 2;
      for (std::int64_t c = 0; c < dim_; c += 2) {
        keys[c * panel] = key[c];
        keys[c * panel + 1] = key[c + 1];
      }
      for (std::int64_t first = 0; first < columns_; first += panel) {
        const std::int64_t width = std::min(panel, columns_ - first);
        Bf16* values = packed.values.data() + first * keys_ + row / 2 * 2 * width + row % 2;
        for (std::int64_t c = 0; c < std::min(width, dim_ - first); ++c) {
          values[2 * c] = value[first + c];
        }
      }
    }
  }

  // The rows from `first` on of one head.
  void attend(std::int64_t head, std::int64_t first, Scratch& scratch) const {
    const PackedHead& packed = packed_[static_cast<std::size_t>(head)];
    const std::int64_t queries = std::min(query_rows, rows_ - first);
    for (std::int64_t row = 0; row < queries; ++row) {  // side by side: far apart they evict others
      std::copy_n(qkv_ + (first + row) * stride_ + head * dim_, dim_,
                  scratch.queries.data() + row * dim_);
    }
    std::fill(scratch.largest.begin(), scratch.largest.end(),
              -std::numeric_limits<float>::infinity());
    std::fill(scratch.total.begin(), scratch.total.end(), 0.0F);
    for (std::int64_t key = 0; key < keys_; key += key_rows) {
      const std::int64_t keys = std::min(key_rows, keys_ - key);
      for (std::int64_t j = 0; j < keys; j += panel) {
        at::native::cpublas::brgemm(queries, panel, dim_, dim_, panel, key_rows,
                                    /*add_C=*/false, scratch.queries.data(),
                                    packed.keys.data() + (key + j) * dim_,
                                    scratch.scores.data() + j);
      }
      for (std::int64_t row = 0; row < queries; ++row) {
        soften(row, std::min(keys, rows_ - key), keys, key > 0, scratch);
      }
      for (std::int64_t column = 0; column < columns_; column += panel) {
        const std::int64_t width = std::min(panel, columns_ - column);
        at::native::cpublas::brgemm(queries, width, keys, key_rows, width, columns_,
                                    /*add_C=*/key > 0, scratch.probabilities.data(),
                                    packed.values.data() + column * keys_ + key * width,
                                    scratch.sums.data() + column);
      }
    }
    for (std::int64_t row = 0; row < queries; ++row) {
      const float share = 1.0F / scratch.total[static_cast<std::size_t>(row)];
      const float* sums = scratch.sums.data() + row * columns_;
      Bf16* out = out_ + ((first + row) * heads_ + head) * dim_;
      for (std::int64_t c = 0; c < dim_; ++c) out[c] = static_cast<Bf16>(sums[c] * share);
    }
  }

  // 2^x for x <= 0 within 2e-7 of itself; 0 below the smallest normal number.
  __attribute__((target("avx512f"))) static __m512 power_of_two(__m512 x) {
    const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, whole);
    // ln(2)^k / k!
    __m512 y = _mm512_set1_ps(1.5403530e-4F);
    for (const float factor :
         {1.3333558e-3F, 9.6181291e-3F, 5.5504109e-2F, 2.4022651e-1F, 6.9314718e-1F, 1.0F}) {
      y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(factor));
    }
    return _mm512_scalef_ps(y, whole);
  }

  // The row's scores of a block become probabilities; what was summed before is brought to the
  // largest score so far.
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void soften(
      std::int64_t row, std::int64_t valid, std::int64_t keys, bool later, Scratch& scratch) const {
    constexpr std::int64_t lanes = 16;
    const float* scores = scratch.scores.data() + row * key_rows;
    Bf16* probabilities = scratch.probabilities.data() + row * key_rows;
    const auto mask_from = [&](std::int64_t j) {
      return static_cast<__mmask16>(
          valid - j >= lanes ? 0xFFFF : (1U << std::max<std::int64_t>(valid - j, 0)) - 1U);
    };
    __m512 most = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    bool finite = true;
    for (std::int64_t j = 0; j < valid; j += lanes) {
      const __m512 s = _mm512_maskz_loadu_ps(mask_from(j), scores + j);
      most = _mm512_mask_max_ps(most, mask_from(j), most, s);
      finite = finite && _mm512_mask_cmp_ps_mask(mask_from(j), s, s, _CMP_UNORD_Q) == 0;
    }
    float& largest = scratch.largest[static_cast<std::size_t>(row)];
    float& total = scratch.total[static_cast<std::size_t>(row)];
    float now = std::max(largest, _mm512_reduce_max_ps(most) * scale_);
    if (!finite) now = std::numeric_limits<float>::quiet_NaN();  // max() would lose it
    const __m512 shift = _mm512_set1_ps(now);
    const __m512 scale = _mm512_set1_ps(scale_);
    __m512 sum = _mm512_setzero_ps();
    for (std::int64_t j = 0; j < keys; j += lanes) {
      const __m512 s = _mm512_maskz_loadu_ps(mask_from(j), scores + j);
      const __m512 p =
          _mm512_maskz_mov_ps(mask_from(j), power_of_two(_mm512_fmsub_ps(s, scale, shift)));
      sum = _mm512_add_ps(sum, p);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(probabilities + j),
                          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(p)));
    }
    const float fade = later ? std::exp2(largest - now) : 0.0F;
    total = total * fade + _mm512_reduce_add_ps(sum);
    largest = now;
    if (!later) return;
    float* sums = scratch.sums.data() + row * columns_;
    for (std::int64_t c = 0; c < columns_; ++c) sums[c] *= fade;
  }

  std::int64_t rows_, heads_, dim_, stride_, keys_, columns_;
  float scale_;  // of a score, as a power of two
  const Bf16* qkv_;
  Bf16* out_;
  std::vector<PackedHead> packed_;
};

// Whether LibTorch's block product is oneDNN's: it alone takes a second operand of interleaved
// rows.
bool takes_interleaved_rows() {
  std::vector<Bf16> b(2 * least_panel, Bf16(0));
  for (std::int64_t c = 0; c < least_panel; ++c) {
    b[static_cast<std::size_t>(2 * c)] = static_cast<Bf16>(static_cast<float>(c));
    b[static_cast<std::size_t>(2 * c + 1)] = Bf16(1);
  }
  const std::array<Bf16, 2> a{Bf16(1), Bf16(100)};
  std::array<float, least_panel> c{};
  at::native::cpublas::brgemm(1, least_panel, 2, 2, least_panel, least_panel, /*add_C=*/false,
                              a.data(), b.data(), c.data());
  at::native::cpublas::brgemm_release();
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (c[i] != static_cast<float>(i) + 100) return false;
  }
  return true;
}

}  // namespace

bool blocked_attention_serves(at::ScalarType type) {
  static const bool native = __builtin_cpu_supports("avx512bf16") != 0 &&
                             __builtin_cpu_supports("avx512bw") != 0 &&
                             __builtin_cpu_supports("avx512vl") != 0 && takes_interleaved_rows();
  return type == at::kBFloat16 && native;
}

void attend_blocked(const at::Tensor& qkv, const at::Tensor& out) {
  assert(qkv.scalar_type() == at::kBFloat16 && qkv.is_contiguous() && out.is_contiguous() &&
         qkv.size(3) % 2 == 0);
  Attention(qkv, out).run();
}

#else

bool blocked_attention_serves(at::ScalarType) {
  return false;
}

void attend_blocked(const at::Tensor&, const at::Tensor&) {
  assert(false);
}

#endif

}  // namespace vtower
