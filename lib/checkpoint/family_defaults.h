// The few values that published files leave out and the reference fixes in its classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "checkpoint/family.h"
#include "checkpoint/vision_config.h"
#include "core/pixel_spec.h"

namespace vtower {

struct TowerDefaults {
  std::optional<Activation> hidden_act;  // empty: published files state it
  std::int64_t in_channels;
  double norm_eps;  // no key of the reference's vision_config sets it
  double rope_theta;
  std::string_view origin;
};

const TowerDefaults& tower_defaults(Family family) noexcept;

struct ProcessorDefaults {
  PixelLimits limits;
  PatchLayout layout;
  std::string_view origin;
};

const ProcessorDefaults& image_processor_defaults() noexcept;
const ProcessorDefaults& video_processor_defaults(VideoRule rule) noexcept;

inline constexpr double default_rescale_factor = 1.0 / 255.0;  // BaseImageProcessor
inline constexpr Resample default_resample = Resample::bicubic;

}  // namespace vtower
