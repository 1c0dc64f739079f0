#include "media/smart_resize.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "core/error.h"

namespace vtower {
namespace {

constexpr double largest_ratio = 200.0;

void check_ratio(ImageSize size) {
  const auto [shorter, longer] = std::minmax(size.height, size.width);
  if (static_cast<double>(longer) / static_cast<double>(shorter) > largest_ratio) {
    throw Error(ErrorKind::aspect_ratio, "smart_resize",
                "picture of " + std::to_string(size.height) + "x" + std::to_string(size.width) +
                    " (height x width): expected a long side of at most 200 times the short one");
  }
}

// The nearest multiple of `factor`, halves to the even one; 0 for sides up to half a factor.
std::int64_t nearest_multiple(std::int64_t side, std::int64_t factor) {
  return static_cast<std::int64_t>(
             std::nearbyint(static_cast<double>(side) / static_cast<double>(factor))) *
         factor;
}

std::int64_t shrunk(std::int64_t side, double beta, std::int64_t factor) {
  const double cells = std::floor(static_cast<double>(side) / beta / static_cast<double>(factor));
  return std::max(factor, static_cast<std::int64_t>(cells) * factor);
}

std::int64_t enlarged(std::int64_t side, double beta, std::int64_t factor) {
  const double cells = std::ceil(static_cast<double>(side) * beta / static_cast<double>(factor));
  return static_cast<std::int64_t>(cells) * factor;
}

// `counted_frames` weigh in the comparison with the limits, `frames` in the scale: the reference
// rounds the count for the one and not for the other.
ImageSize fit(ImageSize source, std::int64_t frames, std::int64_t counted_frames,
              std::int64_t factor, const PixelLimits& limits) {
  const ImageSize rounded{nearest_multiple(source.height, factor),
                          nearest_multiple(source.width, factor)};
  const std::int64_t volume = counted_frames * rounded.pixels();
  const auto source_volume = static_cast<double>(frames * source.pixels());
  if (volume > limits.max_pixels) {
    const double beta = std::sqrt(source_volume / static_cast<double>(limits.max_pixels));
    return {shrunk(source.height, beta, factor), shrunk(source.width, beta, factor)};
  }
  if (volume < limits.min_pixels) {
    const double beta = std::sqrt(static_cast<double>(limits.min_pixels) / source_volume);
    return {enlarged(source.height, beta, factor), enlarged(source.width, beta, factor)};
  }
  return rounded;
}

}  // namespace

ImageSize smart_resize_frame(ImageSize source, std::int64_t factor, const PixelLimits& limits) {
  assert(source.height > 0 && source.width > 0 && factor > 0);
  check_ratio(source);
  return fit(source, 1, 1, factor, limits);
}

ImageSize smart_resize_clip(std::int64_t frames, ImageSize source, std::int64_t factor,
                            std::int64_t temporal_patch_size, const PixelLimits& limits) {
  assert(source.height > 0 && source.width > 0 && factor > 0 && temporal_patch_size > 0);
  if (frames < temporal_patch_size) {
    throw Error(ErrorKind::out_of_range, "smart_resize",
                "clip of " + std::to_string(frames) + " frames: expected at least " +
                    std::to_string(temporal_patch_size));
  }
  if (source.height < factor || source.width < factor) {
    const double scale = std::max(static_cast<double>(factor) / static_cast<double>(source.height),
                                  static_cast<double>(factor) / static_cast<double>(source.width));
    source = {static_cast<std::int64_t>(static_cast<double>(source.height) * scale),
              static_cast<std::int64_t>(static_cast<double>(source.width) * scale)};
  }
  check_ratio(source);
  return fit(source, frames, nearest_multiple(frames, temporal_patch_size), factor, limits);
}

}  // namespace vtower
