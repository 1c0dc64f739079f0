#include "media/resize_weights.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace vtower {
namespace {

// Cubic convolution with a = -0.5, as both libraries use it for antialiased resizing. They write
// the outer branch differently; the bits of the weights depend on it.
double cubic_inner(double x) {
  return (1.5 * x - 2.5) * x * x + 1.0;
}
double cubic_outer_aten(double x) {
  return ((-0.5 * x - 5.0 * -0.5) * x + 8.0 * -0.5) * x + 2.0;
}
double cubic_outer_pillow(double x) {
  return (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double kernel_value(double x, Resample kernel, WeightRule rule) {
  if (kernel == Resample::lanczos) {
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
  }
  x = std::fabs(x);
  if (kernel == Resample::bilinear) return x < 1.0 ? 1.0 - x : 0.0;
  if (x < 1.0) return cubic_inner(x);
  if (x < 2.0)
    return rule == WeightRule::int16_adaptive ? cubic_outer_aten(x) : cubic_outer_pillow(x);
  return 0.0;
}

double kernel_support(Resample kernel) {
  switch (kernel) {
    case Resample::bilinear: return 1.0;
    case Resample::bicubic: return 2.0;
    case Resample::lanczos: return 3.0;
    case Resample::nearest: break;
  }
  assert(false && "nearest has no weights");
  return 0.0;
}

int adaptive_precision(double largest_weight) {
  int precision = 0;
  while (precision < 22 &&
         static_cast<int>(0.5 + largest_weight * (1 << (precision + 1))) < (1 << 15)) {
    ++precision;
  }
  return precision;
}

// Rounds half away from zero, as both libraries do.
std::int32_t fixed_point(double weight, int precision) {
  return static_cast<std::int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << precision));
}

}  // namespace

AxisWeights axis_weights(std::int64_t source, std::int64_t target, Resample kernel,
                         WeightRule rule) {
  assert(source > 0 && target > 0);
  const double scale = static_cast<double>(source) / static_cast<double>(target);
  const double stretch = std::max(scale, 1.0);
  const double support = kernel_support(kernel) * stretch;
  const double inverse = 1.0 / stretch;
  const auto largest_count = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;

  AxisWeights axis;
  axis.source = source;
  axis.target = target;
  axis.first.resize(static_cast<std::size_t>(target));
  axis.first_byte.resize(static_cast<std::size_t>(target));
  axis.count.resize(static_cast<std::size_t>(target));

  std::vector<double> real(static_cast<std::size_t>(target * largest_count));
  double largest_weight = 0.0;
  std::int64_t widest = 0;
  for (std::int64_t i = 0; i < target; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5), 0);
    const auto last =
        std::min<std::int64_t>(static_cast<std::int64_t>(centre + support + 0.5), source);
    const std::int64_t count = std::clamp<std::int64_t>(last - first, 0, largest_count);
    double* weights = real.data() + i * largest_count;
    double total = 0.0;
    for (std::int64_t j = 0; j < count; ++j) {
      weights[j] =
          kernel_value((static_cast<double>(j + first) - centre + 0.5) * inverse, kernel, rule);
      total += weights[j];
    }
    for (std::int64_t j = 0; j < count && total != 0.0; ++j) {
      weights[j] /= total;
      largest_weight = std::max(largest_weight, weights[j]);
    }
    axis.first[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first);
    axis.count[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(count);
    axis.first_byte[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(3 * first);
    widest = std::max(widest, count);
  }

  axis.precision = rule == WeightRule::int16_adaptive ? adaptive_precision(largest_weight) : 22;
  axis.stride = (widest + 3) / 4 * 4;
  axis.weights.assign(static_cast<std::size_t>(target * axis.stride), 0);
  for (std::int64_t i = 0; i < target; ++i) {
    for (std::int64_t j = 0; j < axis.count[static_cast<std::size_t>(i)]; ++j) {
      axis.weights[static_cast<std::size_t>(i * axis.stride + j)] =
          fixed_point(real[static_cast<std::size_t>(i * largest_count + j)], axis.precision);
    }
  }
  if (rule == WeightRule::int16_adaptive) {
    axis.weights16.assign(axis.weights.begin(), axis.weights.end());
  }
  return axis;
}

std::vector<std::int32_t> nearest_indices_torchvision(std::int64_t source, std::int64_t target) {
  const float scale = static_cast<float>(source) / static_cast<float>(target);
  std::vector<std::int32_t> indices(static_cast<std::size_t>(target));
  for (std::int64_t i = 0; i < target; ++i) {
    const auto index = static_cast<std::int64_t>(std::floor(scale * static_cast<float>(i)));
    indices[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::min(index, source - 1));
  }
  return indices;
}

std::vector<std::int32_t> nearest_indices_pillow(std::int64_t source, std::int64_t target) {
  const double scale = static_cast<double>(source) / static_cast<double>(target);
  std::vector<std::int32_t> indices(static_cast<std::size_t>(target));
  double position = scale * 0.5;  // the reference adds up, so do its rounding errors
  for (std::int32_t& index : indices) {
    index = static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(position), source - 1));
    position += scale;
  }
  return indices;
}

}  // namespace vtower
