// Errors of tokens as colours: cool within the limit, warm beyond it, on a logarithmic scale.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "cli/png_image.h"

namespace vtower::cli {

// RGBA of an error that is `share` of its limit, from 1 % to 100 times; NaN and infinity have a
// colour of their own. Small shares are nearly transparent, so that what lies below stays visible.
std::array<std::uint8_t, 4> heat_colour(double share);

// A pixel for each token of a height x width picture.
RgbaImage heat_map(std::span<const float> errors, double limit, ImageSize tokens);

// The scale with its ticks, as inline SVG.
std::string heat_legend();

}  // namespace vtower::cli
