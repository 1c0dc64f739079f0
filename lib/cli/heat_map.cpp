#include "cli/heat_map.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "cli/html_text.h"

namespace vtower::cli {
namespace {

struct Stop {
  double at;  // log10 of the share
  std::array<double, 4> rgba;
};

// The jump at 0, where the limit is used up, is meant to be seen.
constexpr std::array<Stop, 6> scale{{{-2, {40, 90, 190, 30}},
                                     {-1, {50, 140, 215, 90}},
                                     {0, {130, 205, 225, 130}},
                                     {0, {255, 190, 0, 170}},
                                     {1, {235, 80, 15, 205}},
                                     {2, {130, 0, 35, 225}}}};
constexpr std::array<std::uint8_t, 4> not_finite{230, 0, 230, 255};

std::string css(const std::array<std::uint8_t, 4>& colour) {
  return "rgb(" + std::to_string(colour[0]) + "," + std::to_string(colour[1]) + "," +
         std::to_string(colour[2]) + ")";
}

}  // namespace

std::array<std::uint8_t, 4> heat_colour(double share) {
  if (!std::isfinite(share)) return not_finite;
  const double at =
      share > 0 ? std::clamp(std::log10(share), scale.front().at, scale.back().at) : scale[0].at;
  // What uses its limit up but is not beyond it belongs to the cool half.
  std::size_t upper = 1;
  while (upper + 1 < scale.size() && at > scale[upper].at) ++upper;
  const Stop& low = scale[upper - 1];
  const Stop& high = scale[upper];
  const double part = high.at > low.at ? (at - low.at) / (high.at - low.at) : 1;
  std::array<std::uint8_t, 4> colour{};
  for (std::size_t i = 0; i < colour.size(); ++i) {
    colour[i] =
        static_cast<std::uint8_t>(std::lround(low.rgba[i] + part * (high.rgba[i] - low.rgba[i])));
  }
  return colour;
}

RgbaImage heat_map(std::span<const float> errors, double limit, ImageSize tokens) {
  assert(std::ssize(errors) <= tokens.pixels());
  RgbaImage image(tokens);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double error = static_cast<double>(errors[i]);
    const std::array<std::uint8_t, 4> colour = heat_colour(error == 0 ? 0 : error / limit);
    std::ranges::copy(colour, image.pixel(static_cast<std::int64_t>(i)));
  }
  return image;
}

std::string heat_legend() {
  constexpr int steps = 80;
  constexpr int step_width = 5;
  constexpr int left = 10;
  std::string svg;
  for (int i = 0; i < steps; ++i) {
    const auto colour = heat_colour(std::pow(10, -2 + 4 * (i + 0.5) / steps));
    svg += "<rect x=\"" + std::to_string(left + i * step_width) + "\" y=\"0\" width=\"" +
           std::to_string(step_width) + "\" height=\"12\" fill=\"" + css(colour) + "\"/>";
  }
  const std::array<const char*, 5> ticks{"1 %", "10 %", "the limit", "10 ×", "100 ×"};
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const std::string x = std::to_string(left + static_cast<int>(i) * steps * step_width / 4);
    svg += "<line x1=\"" + x + "\" x2=\"" + x + "\" y1=\"0\" y2=\"16\"/>";
    svg += "<text x=\"" + x + "\" y=\"28\" text-anchor=\"" + (i == 0 ? "start" : "middle") + "\">" +
           ticks[i] + "</text>";
  }
  svg += "<rect x=\"450\" y=\"0\" width=\"16\" height=\"12\" fill=\"" + css(not_finite) + "\"/>";
  svg += "<text x=\"472\" y=\"11\">not finite</text>";
  return html_tag("svg", svg,
                  "class=\"legend\" viewBox=\"0 0 545 32\" role=\"img\" aria-label=\"colours of "
                  "errors: share of the limit\"");
}

}  // namespace vtower::cli
