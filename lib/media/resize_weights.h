// The integer weights of one axis of a resize.
//
// Sources: compute_index_ranges_int16_weights of ATen's UpSampleKernel (torch 2.11.0) and
// precompute_coeffs / normalize_coeffs_8bpc of Pillow 13.0.0.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pixel_spec.h"

namespace vtower {

enum class WeightRule {
  int16_adaptive,  // ATen: as many fraction bits as let the axis's largest weight stay an int16
  int32_22bit,     // Pillow: 22 fraction bits
};

// Output i = clamp8((sum_j weights[i * stride + j] * source[first[i] + j] + half) >> precision),
// j in [0, count[i]), half = 1 << (precision - 1). Weights beyond count[i] are zero.
struct AxisWeights {
  std::int64_t source = 0;
  std::int64_t target = 0;
  int precision = 0;
  std::int64_t stride = 0;  // weights stored per output, a multiple of 4
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> first_byte;  // 3 * first: where that pixel begins in an RGB line
  std::vector<std::int32_t> count;
  std::vector<std::int32_t> weights;
  std::vector<std::int16_t> weights16;  // the same under int16_adaptive, else empty

  [[nodiscard]] bool identity() const noexcept { return source == target; }
};

// `kernel` is bilinear, bicubic or lanczos.
AxisWeights axis_weights(std::int64_t source, std::int64_t target, Resample kernel,
                         WeightRule rule);

// Source index of each output for Resample::nearest, of at::upsample_nearest2d and of Pillow.
std::vector<std::int32_t> nearest_indices_torchvision(std::int64_t source, std::int64_t target);
std::vector<std::int32_t> nearest_indices_pillow(std::int64_t source, std::int64_t target);

}  // namespace vtower
