#include "cli/pca_pictures.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace vtower::cli {
namespace {

constexpr std::int64_t components = 3;

// The eigenvectors of x^T x with the largest eigenvalues, [width, 3]. Covariances of wide tokens
// take minutes to decompose; a block of a few vectors is turned towards the largest ones instead,
// and only its own small covariance is decomposed.
at::Tensor principal_axes(const at::Tensor& x) {
  constexpr std::int64_t block = 12;
  constexpr int turns = 24;
  const std::int64_t width = x.size(1);
  const std::int64_t kept = std::min({block, width, x.size(0)});
  const at::Tensor start = at::arange(width * kept, x.options()).mul(0.7548776662).add(0.5).cos();
  at::Tensor axes = std::get<0>(at::linalg_qr(start.reshape({width, kept})));
  for (int turn = 0; turn < turns; ++turn) {
    axes = std::get<0>(at::linalg_qr(at::matmul(x.t(), at::matmul(x, axes))));
  }
  const at::Tensor seen = at::matmul(x, axes);
  const auto [values, vectors] = at::linalg_eigh(at::matmul(seen.t(), seen));  // ascending
  const std::int64_t found = std::min(components, kept);
  return at::matmul(axes, vectors.narrow(1, kept - found, found).flip({1}));
}

// The value below which `part` of the sorted values lie.
double percentile(const at::Tensor& sorted, double part) {
  const std::int64_t last = sorted.size(0) - 1;
  return sorted[std::llround(part * static_cast<double>(last))].item<double>();
}

struct Range {
  double low = 0;
  double high = 0;
};

Range range_of(const at::Tensor& values) {
  const at::Tensor finite = values.index_select(0, at::isfinite(values).nonzero().view({-1}));
  if (finite.size(0) == 0) return {};
  const at::Tensor sorted = std::get<0>(finite.sort());
  return {percentile(sorted, 0.02), percentile(sorted, 0.98)};
}

std::uint8_t shade(double value, const Range& range) {
  const double part = range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(part, 0.0, 1.0)));
}

std::vector<RgbaImage> pictures_of(const at::Tensor& colours, const std::vector<Range>& ranges,
                                   const GridThw& grid) {
  std::vector<RgbaImage> pictures;
  const auto values = colours.accessor<double, 2>();
  std::int64_t token = 0;
  for (std::int64_t t = 0; t < grid.t; ++t) {
    RgbaImage& picture = pictures.emplace_back(ImageSize{grid.h, grid.w});
    for (std::int64_t i = 0; i < grid.h * grid.w; ++i, ++token) {
      if (!std::isfinite(values[token][0])) continue;  // transparent
      for (std::int64_t c = 0; c < components; ++c) {
        picture.pixel(i)[c] = shade(values[token][c], ranges[static_cast<std::size_t>(c)]);
      }
      picture.pixel(i)[3] = 255;
    }
  }
  return pictures;
}

}  // namespace

at::Tensor shared_components(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor all = at::cat({a.to(at::kDouble), b.to(at::kDouble)});
  const at::Tensor places = at::isfinite(all).all(1).nonzero().view({-1});
  at::Tensor projected =
      at::full({all.size(0), components}, std::numeric_limits<double>::quiet_NaN(), all.options());
  if (places.size(0) == 0) return projected;
  at::Tensor finite = all.index_select(0, places);
  finite = finite - finite.mean(0, true);
  const at::Tensor found = at::matmul(finite, principal_axes(finite));
  at::Tensor three = at::zeros({finite.size(0), components}, all.options());
  three.narrow(1, 0, found.size(1)).copy_(found);
  projected.index_copy_(0, places, three);
  return projected;
}

PcaPictures pca_pictures(const at::Tensor& a, const at::Tensor& b, const GridThw& grid) {
  const at::Tensor projected = shared_components(a, b);
  std::vector<Range> ranges;
  for (std::int64_t c = 0; c < components; ++c) ranges.push_back(range_of(projected.select(1, c)));
  return {pictures_of(projected.narrow(0, 0, a.size(0)), ranges, grid),
          pictures_of(projected.narrow(0, a.size(0), b.size(0)), ranges, grid)};
}

}  // namespace vtower::cli
