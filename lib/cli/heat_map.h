// Errors of tokens as colours: cool within the limit, warm beyond it, on a logarithmic scale.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "cli/png_image.h"

namespace vtower::cli {

// From 1 % of the limit to the power of ten above the worst share, at least 100 times the limit.
class HeatScale {
 public:
  // `worst_share`: the largest finite share of a limit that is to be drawn.
  explicit HeatScale(double worst_share = 0);

  // RGBA; NaN and infinity have a colour of their own. Small shares are nearly transparent, so that
  // what lies below stays visible.
  [[nodiscard]] std::array<std::uint8_t, 4> colour(double share) const;

  // A pixel for each token of a height x width picture.
  [[nodiscard]] RgbaImage map(std::span<const float> errors, double limit, ImageSize tokens) const;

  // The scale with its ticks, as inline SVG.
  [[nodiscard]] std::string legend() const;

 private:
  int top_;  // log10 of the largest share
};

}  // namespace vtower::cli
