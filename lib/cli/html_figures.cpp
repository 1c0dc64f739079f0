#include "cli/html_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include "cli/heat_map.h"
#include "cli/html_text.h"

namespace vtower::cli {
namespace {

std::string rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string image(const std::string& uri, const std::string& classes, const std::string& alt) {
  return "<img class=\"" + classes + "\" alt=\"" + html_escaped(alt) + "\" src=\"" + uri + "\">";
}

// Layers of one picture over each other, `size` giving its shape. Tall ones are made narrower.
std::string figure(const std::string& layers, const std::string& caption, ImageSize size,
                   double most_width) {
  constexpr double most_height_to_width = 1.3;
  const double ratio = static_cast<double>(size.height) / static_cast<double>(size.width);
  const double width = std::max(
      5.0, ratio > most_height_to_width ? most_width * most_height_to_width / ratio : most_width);
  const std::string shape = "style=\"aspect-ratio:" + std::to_string(size.width) + "/" +
                            std::to_string(size.height) + "\"";
  return html_tag(
      "figure",
      html_tag("div", layers, "class=\"stack\" " + shape) + html_tag("figcaption", caption),
      "style=\"width:" + rounded(width) + "rem\"");
}

constexpr double item_width = 22;  // rem: three beside each other
constexpr double worst_width = 34;

const ItemReport& entry_of(const Report& report, const HtmlItem& item) {
  return report.pairs[item.pair].items[item.entry];
}

std::string frames_of(const HtmlItem& item, const HtmlGroup& group) {
  if (item.tokens.t == 1) return "";
  const std::int64_t first = group.group * item.frames_in_group;
  const std::int64_t last = first + item.frames_in_group - 1;
  return "frames " + std::to_string(first) + " to " + std::to_string(last) + ": ";
}

std::string group_figures(const Report& report, const HtmlItem& item, const HtmlGroup& group,
                          const HeatScale& scale) {
  const PairReport& pair = report.pairs[item.pair];
  const ItemReport& entry = entry_of(report, item);
  const ImageSize tokens{item.tokens.h, item.tokens.w};
  const std::string frames = frames_of(item, group);
  const std::span<const float> errors(entry.comparison.errors);
  const auto first = static_cast<std::size_t>(group.group * tokens.pixels());
  const std::span<const float> here = errors.subspan(
      std::min(first, errors.size()), std::min(static_cast<std::size_t>(tokens.pixels()),
                                               errors.size() - std::min(first, errors.size())));
  std::string layers;
  if (group.photograph) {
    layers += image(png_data_uri(*group.photograph), "photo", "photograph, " + entry.item);
  } else {
    layers += "<div></div>";
  }
  layers += image(png_data_uri(scale.map(here, entry.limit, tokens)), "heat tokens",
                  "errors of tokens, " + entry.item);
  std::string html = figure(
      layers, frames + (group.photograph ? "error over the photograph" : "error of each token"),
      tokens, item_width);
  for (const auto& [picture, side] :
       {std::pair(&group.pca_a, &pair.a), std::pair(&group.pca_b, &pair.b)}) {
    if (!*picture) continue;
    html += figure(image(png_data_uri(**picture), "tokens", "tokens of " + *side),
                   "tokens of " + html_escaped(*side), tokens, item_width);
  }
  return html_tag("div", html, "class=\"group\"");
}

std::string shape_in_words(const Report& report, const HtmlItem& item) {
  const ItemReport& entry = entry_of(report, item);
  const std::string count = std::to_string(entry.comparison.tokens) + " tokens";
  if (!entry.grid) return count + ", grid not known: in order, line by line";
  std::string words =
      count + ", " + std::to_string(item.tokens.h) + " × " + std::to_string(item.tokens.w);
  if (item.tokens.t > 1) words += " in each of " + std::to_string(item.tokens.t) + " frame groups";
  const std::size_t drawn = item.groups.size();
  if (drawn < static_cast<std::size_t>(item.tokens.t)) {
    words += ", of which the " + std::to_string(drawn) + " with the largest errors are drawn";
  }
  return words;
}

std::string error_in_words(const ItemReport& entry) {
  if (std::isnan(entry.comparison.worst_error)) return "a token is not finite. ";
  return "worst token " + html_number(entry.comparison.worst_error) + ", " +
         html_share(entry.used()) + " of its limit " + html_number(entry.limit) + ". ";
}

std::string item_section(const Report& report, const HtmlItem& item, const HeatScale& scale) {
  const PairReport& pair = report.pairs[item.pair];
  const ItemReport& entry = entry_of(report, item);
  std::string tensor = entry.tensor == "embeddings" ? "" : html_escaped(entry.tensor) + " of ";
  std::string html = html_tag("h3", html_escaped(entry.item));
  html += html_tag("p",
                   tensor + "<b>" + html_escaped(pair.a) + "</b> against " + html_escaped(pair.b) +
                       ": " + error_in_words(entry) + shape_in_words(report, item) + ".",
                   "class=\"quiet\"");
  const bool photographs = std::ranges::any_of(
      item.groups, [](const HtmlGroup& group) { return group.photograph.has_value(); });
  if (photographs) {  // a switch without a script: the style reads the box
    const std::string id = "lay-" + std::to_string(item.pair) + "-" + std::to_string(item.entry);
    html += "<input type=\"checkbox\" class=\"lay\" id=\"" + id + "\" checked>" +
            html_tag("label", "errors over the photograph", "class=\"quiet\" for=\"" + id + "\"");
  }
  std::string groups;
  for (const HtmlGroup& group : item.groups) groups += group_figures(report, item, group, scale);
  return html_tag("section", html + html_tag("div", groups, "class=\"groups\""), "class=\"item\"");
}

}  // namespace

std::string html_worst_picture(const Worst& worst, const Report& report, const HtmlItems& items) {
  if (!worst.box_px || worst.box_px->size() != 4) return "";
  for (const HtmlItem& item : items.drawn) {
    if (entry_of(report, item).item != worst.item || !item.factor) continue;
    const std::int64_t group = worst.token / (item.tokens.h * item.tokens.w);
    for (const HtmlGroup& one : item.groups) {
      if (one.group != group || !one.photograph) continue;
      const ImageSize size{item.tokens.h * *item.factor, item.tokens.w * *item.factor};
      const std::vector<std::int64_t>& box = *worst.box_px;
      const std::string place = "x=\"" + std::to_string(box[0]) + "\" y=\"" +
                                std::to_string(box[1]) + "\" width=\"" +
                                std::to_string(box[2] - box[0]) + "\" height=\"" +
                                std::to_string(box[3] - box[1]) + "\"/>";
      const std::string marks =
          "<rect class=\"mark under\" " + place + "<rect class=\"mark\" " + place;
      return figure(image(png_data_uri(*one.photograph), "", "photograph, " + worst.item) +
                        html_tag("svg", marks,
                                 "viewBox=\"0 0 " + std::to_string(size.width) + " " +
                                     std::to_string(size.height) + "\""),
                    frames_of(item, one) + "the worst token's box", size, worst_width);
    }
  }
  return "";
}

std::string html_item_figures(const Report& report, const HtmlItems& items) {
  double worst = 0;
  for (const HtmlItem& item : items.drawn) {
    const ItemReport& entry = entry_of(report, item);
    for (const float error : entry.comparison.errors) {
      const double share = static_cast<double>(error) / entry.limit;
      if (std::isfinite(share)) worst = std::max(worst, share);
    }
  }
  const HeatScale scale(worst);
  std::string html = scale.legend();
  for (const HtmlItem& item : items.drawn) html += item_section(report, item, scale);
  return html;
}

}  // namespace vtower::cli
