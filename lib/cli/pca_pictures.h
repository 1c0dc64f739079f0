// Tokens of two sides as colours that mean the same on both.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "cli/png_image.h"
#include "core/grid_thw.h"

namespace vtower::cli {

struct PcaPictures {
  std::vector<RgbaImage> a;  // of each temporal group, a pixel for each token
  std::vector<RgbaImage> b;
};

// `a` and `b`: floating point [tokens, width] of one shape, on the CPU, tokens row by row of each
// group; `grid` counts tokens. The three largest principal components of the tokens of both sides
// together, their mean removed, are red, green and blue: one basis and one scale (from the 2nd to
// the 98th percentile), so equal colours are equal tokens. Tokens that are not finite are left out
// and transparent. Deterministic.
PcaPictures pca_pictures(const at::Tensor& a, const at::Tensor& b, const GridThw& grid);

// The projections [tokens of a + tokens of b, 3] behind the colours; NaN where not finite.
at::Tensor shared_components(const at::Tensor& a, const at::Tensor& b);

}  // namespace vtower::cli
