#include "cli/heat_map.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "cli/html_text.h"

namespace vtower::cli {
namespace {

constexpr int bottom = -2;  // log10 of the smallest share

struct Stop {
  double at;  // log10 of the share below 0, a part of the scale's upper half above it
  std::array<double, 4> rgba;
};

// The jump at 0, where the limit is used up, is meant to be seen.
constexpr std::array<Stop, 6> stops{{{bottom, {40, 90, 190, 30}},
                                     {-1, {50, 140, 215, 90}},
                                     {0, {130, 205, 225, 130}},
                                     {0, {255, 190, 0, 150}},
                                     {0.5, {235, 80, 15, 165}},
                                     {1, {130, 0, 35, 180}}}};
constexpr std::array<std::uint8_t, 4> not_finite{230, 0, 230, 255};

std::string css(const std::array<std::uint8_t, 4>& colour) {
  return "rgb(" + std::to_string(colour[0]) + "," + std::to_string(colour[1]) + "," +
         std::to_string(colour[2]) + ")";
}

}  // namespace

HeatScale::HeatScale(double worst_share)
    : top_(worst_share > 100 ? static_cast<int>(std::ceil(std::log10(worst_share))) : 2) {}

std::array<std::uint8_t, 4> HeatScale::colour(double share) const {
  if (!std::isfinite(share)) return not_finite;
  const double decades = share > 0 ? std::log10(share) : bottom;
  const double at =
      std::clamp(decades > 0 ? decades / top_ : decades, stops.front().at, stops.back().at);
  // What uses its limit up but is not beyond it belongs to the cool half.
  std::size_t upper = 1;
  while (upper + 1 < stops.size() && at > stops[upper].at) ++upper;
  const Stop& low = stops[upper - 1];
  const Stop& high = stops[upper];
  const double part = high.at > low.at ? (at - low.at) / (high.at - low.at) : 1;
  std::array<std::uint8_t, 4> rgba{};
  for (std::size_t i = 0; i < rgba.size(); ++i) {
    rgba[i] =
        static_cast<std::uint8_t>(std::lround(low.rgba[i] + part * (high.rgba[i] - low.rgba[i])));
  }
  return rgba;
}

RgbaImage HeatScale::map(std::span<const float> errors, double limit, ImageSize tokens) const {
  assert(std::ssize(errors) <= tokens.pixels());
  RgbaImage image(tokens);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double error = static_cast<double>(errors[i]);
    std::ranges::copy(colour(error == 0 ? 0 : error / limit),
                      image.pixel(static_cast<std::int64_t>(i)));
  }
  return image;
}

std::string HeatScale::legend() const {
  constexpr int left = 10;
  constexpr int width = 400;
  constexpr int steps = 80;
  const double decades = top_ - bottom;
  const auto place = [&](double decade) {
    return std::to_string(left + static_cast<int>(width * (decade - bottom) / decades));
  };
  std::string svg;
  for (int i = 0; i < steps; ++i) {
    svg += "<rect x=\"" + std::to_string(left + i * width / steps) + "\" y=\"0\" width=\"" +
           std::to_string(width / steps) + "\" height=\"12\" fill=\"" +
           css(colour(std::pow(10, bottom + decades * (i + 0.5) / steps))) + "\"/>";
  }
  const int step = (top_ + 2) / 3;  // three marks beyond the limit, or fewer
  for (int decade = bottom; decade <= top_; decade += decade < 0 ? 1 : step) {
    const std::string words = decade < 0    ? (decade == -1 ? "10 %" : "1 %")
                              : decade == 0 ? "the limit"
                              : decade < 4
                                  ? std::to_string(std::lround(std::pow(10, decade))) + " ×"
                                  : "1e" + std::to_string(decade) + " ×";
    svg += "<line x1=\"" + place(decade) + "\" x2=\"" + place(decade) +
           "\" y1=\"0\" y2=\"16\"/><text x=\"" + place(decade) + "\" y=\"28\" text-anchor=\"" +
           (decade == bottom ? "start" : "middle") + "\">" + words + "</text>";
  }
  svg += "<rect x=\"450\" y=\"0\" width=\"16\" height=\"12\" fill=\"" + css(not_finite) +
         "\"/><text x=\"472\" y=\"11\">not finite</text>";
  return html_tag("svg", svg,
                  "class=\"legend\" viewBox=\"0 0 545 32\" role=\"img\" aria-label=\"colours of "
                  "errors: share of the limit\"");
}

}  // namespace vtower::cli
