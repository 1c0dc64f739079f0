#include "tower/widened_linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>

namespace vtower {
namespace {

// Large enough for full speed, small enough to stay near the cache.
constexpr std::int64_t block_rows = 1024;
constexpr std::int64_t block_columns = 1024;

}  // namespace

bool has_native_products(at::ScalarType type) {
#if defined(__x86_64__)
  if (type == at::kBFloat16) return __builtin_cpu_supports("avx512bf16") != 0;
  if (type == at::kHalf) return false;
#endif
  return true;
}

at::Tensor widened_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor out = at::empty({x.size(0), weight.size(0)}, x.options());
  for (std::int64_t column = 0; column < weight.size(0); column += block_columns) {
    const std::int64_t columns = std::min(block_columns, weight.size(0) - column);
    const at::Tensor w = weight.narrow(0, column, columns).to(at::kFloat);
    const at::Tensor b =
        bias.defined() ? bias.narrow(0, column, columns).to(at::kFloat) : at::Tensor();
    for (std::int64_t row = 0; row < x.size(0); row += block_rows) {
      const std::int64_t rows = std::min(block_rows, x.size(0) - row);
      out.narrow(0, row, rows)
          .narrow(1, column, columns)
          .copy_(at::linear(x.narrow(0, row, rows).to(at::kFloat), w, b));
    }
  }
  return out;
}

}  // namespace vtower
