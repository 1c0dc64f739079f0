#include "tower/rotary.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sin.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cassert>

#include "tower/device_ops.h"

namespace vtower {
namespace {

template <typename Wide, typename Element>
void rotate_rows(Element* qkv, const float* cos, const float* sin, std::int64_t rows,
                 std::int64_t heads, std::int64_t half) {
  const std::int64_t width = heads * 2 * half;
  at::parallel_for(0, rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* c = cos + r * half;
      const float* s = sin + r * half;
      // q and k are the first two thirds of the row, so their heads follow each other.
      for (std::int64_t h = 0; h < 2 * heads; ++h) {
        Element* a = qkv + r * 3 * width + h * 2 * half;
        Element* b = a + half;
        for (std::int64_t j = 0; j < half; ++j) {
          const auto first = static_cast<Wide>(a[j]);
          const auto second = static_cast<Wide>(b[j]);
          a[j] = static_cast<Element>(first * c[j] - second * s[j]);
          b[j] = static_cast<Element>(second * c[j] + first * s[j]);
        }
      }
    }
  });
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(std::int64_t head_dim, double theta, const Placement& placement) {
  const at::Tensor exponents =
      at::arange(0, head_dim / 2, 2, at::kFloat).div_(static_cast<double>(head_dim) / 2.0);
  frequencies_ = at::pow(at::Scalar(theta), exponents).reciprocal().to(placement.device);
}

Rotation RotaryEmbedding::operator()(const at::Tensor& positions, const StageTrace& trace) const {
  at::Tensor angles =
      positions.to(at::kFloat).unsqueeze(-1).mul(frequencies_).flatten(1);  // [N, 2 * d/4]
  trace.internal("rotary.angles", angles);
  Rotation rotation{at::cos(angles), at::sin(angles)};
  trace.internal("rotary.cos", rotation.cos);
  trace.internal("rotary.sin", rotation.sin);
  return rotation;
}

void rotate_queries_and_keys(at::Tensor& qkv, const Rotation& rotation) {
  assert(qkv.dim() == 4 && qkv.is_contiguous() && qkv.size(3) == 2 * rotation.cos.size(1));
  if (!qkv.is_cpu()) return device::rotate(qkv, rotation);
  const std::int64_t rows = qkv.size(0);
  const std::int64_t heads = qkv.size(2);
  const std::int64_t half = qkv.size(3) / 2;
  const auto* cos = rotation.cos.const_data_ptr<float>();
  const auto* sin = rotation.sin.const_data_ptr<float>();
  switch (qkv.scalar_type()) {
    case at::kBFloat16:
      return rotate_rows<float>(qkv.data_ptr<c10::BFloat16>(), cos, sin, rows, heads, half);
    case at::kHalf:
      return rotate_rows<float>(qkv.data_ptr<c10::Half>(), cos, sin, rows, heads, half);
    case at::kDouble:
      return rotate_rows<double>(qkv.data_ptr<double>(), cos, sin, rows, heads, half);
    default: return rotate_rows<float>(qkv.data_ptr<float>(), cos, sin, rows, heads, half);
  }
}

}  // namespace vtower
