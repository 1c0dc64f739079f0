// Attention in blocks against its definition in float64 and LibTorch's own in the same type.
#include "tower/blocked_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <limits>

#include "support/doctest.h"
#include "support/towers.h"

using namespace vtower;

namespace {

// [n, 3, heads, d] -> [n, heads * d]
at::Tensor by_definition(const at::Tensor& qkv) {
  const at::Tensor parts = qkv.permute({1, 2, 0, 3}).unsqueeze(1).contiguous();
  return at::scaled_dot_product_attention(parts[0], parts[1], parts[2])
      .squeeze(0)
      .transpose(0, 1)
      .reshape({qkv.size(0), -1});
}

at::Tensor in_blocks(const at::Tensor& qkv) {
  at::Tensor out = at::empty({qkv.size(0), qkv.size(2) * qkv.size(3)}, qkv.options());
  out.fill_(std::numeric_limits<double>::quiet_NaN());
  attend_blocked(qkv, out);
  return out;
}

bool serves() {
  if (blocked_attention_serves(at::kBFloat16)) return true;
  MESSAGE("this CPU does not multiply bf16: attention in blocks is not tested here");
  return false;
}

}  // namespace

TEST_CASE("attention in blocks is as exact as LibTorch's") {
  const c10::InferenceMode inference;
  CHECK_FALSE(blocked_attention_serves(at::kFloat));
  if (!serves()) return;
  for (const std::int64_t rows : {1, 63, 256, 511, 1029, 1300}) {
    for (const std::int64_t dim : {16, 30, 64, 72, 80, 128, 130}) {
      for (const double spread : {1.0, 4.0}) {  // flat and peaked softmax
        CAPTURE(rows);
        CAPTURE(dim);
        const at::Tensor qkv = at::randn({rows, 3, 2, dim}).mul_(spread).to(at::kBFloat16);
        const at::Tensor exact = by_definition(qkv.to(at::kDouble));
        const double ours = test::relative_error(in_blocks(qkv), exact);
        CHECK(ours <= 1.1 * test::relative_error(by_definition(qkv), exact) + 1e-4);
      }
    }
  }
}

TEST_CASE("attention in blocks loses no value that is no number") {
  if (!serves()) return;
  const at::Tensor qkv = at::randn({700, 3, 2, 80}).to(at::kBFloat16);
  const auto finite_rows = [](const at::Tensor& out) {
    std::int64_t rows = 0;
    for (std::int64_t r = 0; r < out.size(0); ++r) {
      const auto* values = out.const_data_ptr<c10::BFloat16>() + r * out.size(1);
      bool finite = true;
      for (std::int64_t c = 0; c < 80; ++c) finite = finite && std::isfinite(float{values[c]});
      rows += finite ? 1 : 0;
    }
    return rows;
  };
  CHECK(finite_rows(in_blocks(qkv)) == 700);
  constexpr std::int64_t query = 0, key = 1, value = 2;
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    at::Tensor one = qkv.clone();
    one[5][query][0][7].fill_(bad);
    CHECK(finite_rows(in_blocks(one)) == 699);
  }
  for (const std::int64_t row : {0, 699}) {  // in the first block of keys, and in the last
    at::Tensor one = qkv.clone();
    one[row][key][0][7].fill_(std::numeric_limits<double>::quiet_NaN());
    CHECK(finite_rows(in_blocks(one)) == 0);
    one = qkv.clone();
    one[row][value][0][7].fill_(std::numeric_limits<double>::quiet_NaN());
    CHECK(finite_rows(in_blocks(one)) == 0);
  }
}
