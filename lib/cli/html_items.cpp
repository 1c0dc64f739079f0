#include "cli/html_items.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "cli/pca_pictures.h"
#include "core/raw_patch_picture.h"
#include "media/resize.h"

namespace vtower::cli {
namespace {

constexpr std::size_t most_items = 20;
constexpr std::size_t most_groups = 4;
constexpr std::int64_t most_pixels = 512;  // of a side
constexpr std::int64_t strip_width = 64;   // tokens in a line, where no grid is known

// Orders what is no number before all else.
double rank_of(double error) {
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

struct Place {
  std::size_t pair = 0;
  std::size_t entry = 0;
  double rank = 0;
};

// The worst entry of each item, the worst item first.
std::vector<Place> worst_entries(const Report& report) {
  std::map<std::string, std::size_t> known;
  std::vector<Place> places;
  for (std::size_t pair = 0; pair < report.pairs.size(); ++pair) {
    const std::vector<ItemReport>& items = report.pairs[pair].items;
    for (std::size_t entry = 0; entry < items.size(); ++entry) {
      const Place place{pair, entry, rank_of(items[entry].used())};
      const auto [at, is_new] = known.emplace(items[entry].item, places.size());
      if (is_new) {
        places.push_back(place);
      } else if (place.rank > places[at->second].rank) {
        places[at->second] = place;
      }
    }
  }
  std::ranges::stable_sort(places, [](const Place& a, const Place& b) { return a.rank > b.rank; });
  return places;
}

Frame scaled_down(const Frame& frame) {
  const std::int64_t longest = std::max(frame.size.height, frame.size.width);
  if (longest <= most_pixels) {
    Frame copy(frame.size);
    std::ranges::copy(frame.pixels.span(), copy.pixels.data());
    return copy;
  }
  const auto side = [&](std::int64_t length) {
    return std::max<std::int64_t>(1, length * most_pixels / longest);
  };
  const ImageSize target{side(frame.size.height), side(frame.size.width)};
  return Resizer(frame.size, target, Resample::bicubic, ResizeBackend::torchvision).resize(frame);
}

// The groups with the largest errors, in order.
std::vector<std::int64_t> worst_groups(const ItemReport& item, const GridThw& tokens) {
  std::vector<std::pair<double, std::int64_t>> ranked;
  const std::vector<float>& errors = item.comparison.errors;
  const auto size = static_cast<std::size_t>(tokens.h * tokens.w);
  for (std::int64_t t = 0; t < tokens.t; ++t) {
    double worst = 0;
    const std::size_t first = static_cast<std::size_t>(t) * size;
    for (std::size_t i = first; i < std::min(first + size, errors.size()); ++i) {
      worst = std::max(worst, rank_of(static_cast<double>(errors[i])));
    }
    ranked.emplace_back(-worst, t);
  }
  std::ranges::sort(ranked);
  ranked.resize(std::min(ranked.size(), most_groups));
  std::vector<std::int64_t> groups;
  for (const auto& [worst, t] : ranked) groups.push_back(t);
  std::ranges::sort(groups);
  return groups;
}

HtmlItem item_at(const Report& report, const Place& place, const PictureSource& source) {
  const ItemReport& entry = report.pairs[place.pair].items[place.entry];
  const std::int64_t count = entry.comparison.tokens;
  HtmlItem item;
  item.pair = place.pair;
  item.entry = place.entry;
  const bool on_grid = entry.grid && entry.grid->tokens(source.merge_size) == count;
  if (on_grid) {
    item.tokens = {entry.grid->t, entry.grid->h / source.merge_size,
                   entry.grid->w / source.merge_size};
  } else {
    const std::int64_t width = std::clamp<std::int64_t>(count, 1, strip_width);
    item.tokens = {1, (count + width - 1) / width, width};
  }
  for (const std::int64_t group : worst_groups(entry, item.tokens)) {
    item.groups.push_back({group, {}, {}, {}});
  }
  if (!on_grid) return item;
  if (source.pixels) {
    if (const std::optional<RawPatches> pixels = source.pixels(entry)) {
      item.factor = pixels->layout().factor();
      item.frames_in_group = pixels->layout().temporal_patch_size;
      for (HtmlGroup& group : item.groups) {
        group.photograph =
            scaled_down(RawPatchPicture::frame(*pixels, 0, group.group * item.frames_in_group));
      }
    }
  }
  if (source.tokens) {
    if (const auto sides = source.tokens(place.pair, entry)) {
      PcaPictures pictures = pca_pictures(sides->a, sides->b, item.tokens);
      for (HtmlGroup& group : item.groups) {
        group.pca_a = std::move(pictures.a[static_cast<std::size_t>(group.group)]);
        group.pca_b = std::move(pictures.b[static_cast<std::size_t>(group.group)]);
      }
    }
  }
  return item;
}

}  // namespace

HtmlItems html_items(const Report& report, const PictureSource& source) {
  const std::vector<Place> places = worst_entries(report);
  HtmlItems items;
  items.of = places.size();
  const std::size_t drawn = std::min(places.size(), most_items);
  for (std::size_t i = 0; i < drawn; ++i) {
    items.drawn.push_back(item_at(report, places[i], source));
    if (source.on_progress) source.on_progress(i + 1, drawn);
  }
  return items;
}

}  // namespace vtower::cli
