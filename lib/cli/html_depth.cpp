#include "cli/html_depth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cli/html_text.h"

namespace vtower::cli {
namespace {

constexpr double width = 920;
constexpr double left = 64;
constexpr double right = 16;
constexpr double top = 14;
constexpr double plot_height = 250;
constexpr double bottom = 76;  // names of stages

std::string at(double coordinate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", coordinate);
  return text.data();
}

// Whole decades around what is finite and above zero.
struct Decades {
  int low = -8;
  int high = 0;
};

Decades decades_of(const HtmlDepth& depth) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const explain::StageError& stage : depth.stages) {
    for (const double value : {stage.error, stage.floor, depth.k * stage.floor}) {
      if (!std::isfinite(value) || value <= 0) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (high == 0) return {};
  const int first = static_cast<int>(std::floor(std::log10(low)));
  return {first, std::max(first + 1, static_cast<int>(std::ceil(std::log10(high))))};
}

class Chart {
 public:
  explicit Chart(const HtmlDepth& depth) : depth_(depth), decades_(decades_of(depth)) {}

  [[nodiscard]] std::string svg() const {
    const double height = top + plot_height + bottom;
    return html_tag("svg", axes() + band() + limit() + errors(),
                    "class=\"depth\" viewBox=\"0 0 " + at(width) + " " + at(height) +
                        "\" role=\"img\" aria-label=\"error by depth\"");
  }

 private:
  [[nodiscard]] double x(std::size_t stage) const {
    const double steps = std::max<double>(1, static_cast<double>(depth_.stages.size()) - 1);
    return left + 12 + (width - left - right - 24) * static_cast<double>(stage) / steps;
  }
  // Zero lies on the bottom, what is no number at the top.
  [[nodiscard]] double y(double value) const {
    if (!std::isfinite(value)) return top;
    if (value <= 0) return top + plot_height;
    const double part =
        (std::log10(value) - decades_.low) / static_cast<double>(decades_.high - decades_.low);
    return top + plot_height * (1 - std::clamp(part, 0.0, 1.0));
  }
  [[nodiscard]] std::string point(std::size_t stage, double value) const {
    return at(x(stage)) + "," + at(y(value)) + " ";
  }
  [[nodiscard]] bool is_wrong(const explain::StageError& stage) const {
    return !(stage.error <= depth_.k * stage.floor);
  }

  [[nodiscard]] std::string axes() const {
    std::string svg;
    const int every = (decades_.high - decades_.low + 7) / 8;
    for (int decade = decades_.low; decade <= decades_.high; decade += every) {
      const std::string height = at(y(std::pow(10, decade)));
      svg += "<line class=\"grid\" x1=\"" + at(left) + "\" x2=\"" + at(width - right) + "\" y1=\"" +
             height + "\" y2=\"" + height + "\"/><text x=\"" + at(left - 8) + "\" y=\"" + height +
             "\" dy=\"4\" text-anchor=\"end\">1e" + std::to_string(decade) + "</text>";
    }
    const std::size_t step = (depth_.stages.size() + 39) / 40;  // names have room for so many
    for (std::size_t i = 0; i < depth_.stages.size(); ++i) {
      const bool last = i + 1 == depth_.stages.size();
      if (i % step != 0 && !last) continue;
      const std::string place = at(x(i)) + " " + at(top + plot_height + 14);
      svg += "<text text-anchor=\"end\" transform=\"translate(" + place + ") rotate(-45)\">" +
             html_escaped(depth_.stages[i].name) + "</text>";
    }
    return svg;
  }

  [[nodiscard]] std::string band() const {
    std::string points;
    for (std::size_t i = 0; i < depth_.stages.size(); ++i) {
      points += point(i, depth_.stages[i].floor);
    }
    points += point(depth_.stages.size() - 1, 0) + point(0, 0);
    return "<polygon class=\"floor\" points=\"" + points + "\"/>";
  }

  [[nodiscard]] std::string limit() const {
    std::string points;
    for (std::size_t i = 0; i < depth_.stages.size(); ++i) {
      points += point(i, depth_.k * depth_.stages[i].floor);
    }
    return "<polyline class=\"limit\" points=\"" + points + "\"/>";
  }

  [[nodiscard]] std::string errors() const {
    std::string points;
    std::string marks;
    for (std::size_t i = 0; i < depth_.stages.size(); ++i) {
      const explain::StageError& stage = depth_.stages[i];
      points += point(i, stage.error);
      marks += "<circle class=\"" + std::string(is_wrong(stage) ? "wrong" : "right") +
               "\" r=\"3.5\" cx=\"" + at(x(i)) + "\" cy=\"" + at(y(stage.error)) + "\"><title>" +
               html_escaped(stage.name) + ": " + html_number(stage.error) + ", limit " +
               html_number(depth_.k * stage.floor) + "</title></circle>";
    }
    return "<polyline class=\"error\" points=\"" + points + "\"/>" + marks;
  }

  const HtmlDepth& depth_;
  Decades decades_;
};

}  // namespace

std::string html_depth(const HtmlDepth& depth) {
  if (depth.stages.empty()) return "";
  const auto first = explain::first_wrong_stage(depth.stages, depth.k);
  const std::string caption =
      "Line: largest error of a row of <b>" + html_escaped(depth.side) + "</b> on " +
      html_escaped(depth.item) + ", against the oracle. Band: what rounding alone makes (the " +
      "floor). Dashed: the limit, " + html_number(depth.k) + " times the floor. " +
      (first ? "The first stage beyond it is <b>" + html_escaped(*first) + "</b>."
             : "No stage is beyond it.");
  return html_tag("figure", Chart(depth).svg() + html_tag("figcaption", caption), "class=\"wide\"");
}

}  // namespace vtower::cli
