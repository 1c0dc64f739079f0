#include "check/place.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

constexpr double least_share = 0.95;  // of the class and of the set that both have in common

// A token as classes see it.
struct Spot {
  std::size_t item = 0;
  std::int64_t token = 0;  // in its item
  std::int64_t place = 0;  // in the batch
  bool bad = false;
  // Where the grid is known: group, row and column of the token, and the counts of each.
  bool on_grid = false;
  std::int64_t t = 0, y = 0, x = 0;
  std::int64_t groups = 0, height = 0, width = 0;
};

using Spots = std::vector<Spot>;

std::vector<Spot> spots_of(std::span<const PlaceItem> items, const PlaceLayout& layout) {
  Spots spots;
  for (std::size_t item = 0; item < items.size(); ++item) {
    const PlaceItem& of = items[item];
    Spot spot;
    if (of.grid && layout.patches) {
      const std::int64_t merge = layout.patches->merge_size;
      spot.groups = of.grid->t;
      spot.height = of.grid->h / merge;
      spot.width = of.grid->w / merge;
      spot.on_grid = spot.groups * spot.height * spot.width == std::ssize(of.errors);
    }
    spot.item = item;
    for (std::size_t token = 0; token < of.errors.size(); ++token) {
      spot.token = static_cast<std::int64_t>(token);
      spot.place = static_cast<std::int64_t>(spots.size());
      spot.bad = !(of.errors[token] <= static_cast<float>(of.limit));
      if (spot.on_grid) {
        spot.t = spot.token / (spot.height * spot.width);
        spot.y = spot.token / spot.width % spot.height;
        spot.x = spot.token % spot.width;
      }
      spots.push_back(spot);
    }
  }
  return spots;
}

// A class that has as many members as there are tokens says nothing of the place.
bool is_the_set(const Spots& spots, const std::function<bool(const Spot&)>& in_class) {
  double members = 0;
  double bad = 0;
  double both = 0;
  for (const Spot& spot : spots) {
    const bool member = in_class(spot);
    members += member;
    bad += spot.bad;
    both += member && spot.bad;
  }
  if (members == 0 || bad == 0 || members == static_cast<double>(spots.size())) return false;
  return both >= least_share * members && both >= least_share * bad;
}

std::int64_t count_bad(const Spots& spots) {
  return std::count_if(spots.begin(), spots.end(), [](const Spot& spot) { return spot.bad; });
}

std::string count_of(std::int64_t tokens) {
  return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

bool at_window_border(std::int64_t at, std::int64_t count, std::int64_t side) {
  // The rim of the picture is a border of the window only if another window follows.
  const bool opens = at % side == 0 && at > 0;
  const bool closes = at % side == side - 1 && at + 1 < count;
  return opens || closes;
}

std::optional<std::string> by_windows(const Spots& spots, const PlaceLayout& layout) {
  if (!layout.window_tokens || *layout.window_tokens < 2) return std::nullopt;
  const std::int64_t side = *layout.window_tokens;
  const auto border = [side](const Spot& spot) {
    return spot.on_grid && (at_window_border(spot.y, spot.height, side) ||
                            at_window_border(spot.x, spot.width, side));
  };
  if (!is_the_set(spots, border)) return std::nullopt;
  return "window borders (windows of " + std::to_string(side) + " x " + std::to_string(side) +
         " tokens)";
}

std::optional<std::string> by_stride(const Spots& spots) {
  for (const std::int64_t stride : {2, 3, 4, 8, 16}) {
    for (std::int64_t first = 0; first < stride; ++first) {
      const auto on_stride = [=](const Spot& spot) { return spot.token % stride == first; };
      if (count_bad(spots) < 2 || !is_the_set(spots, on_stride)) continue;
      const std::string nth = stride == 2   ? "2nd"
                              : stride == 3 ? "3rd"
                                            : std::to_string(stride) + "th";
      return "every " + nth + " token, from " + std::to_string(first) + " on";
    }
  }
  return std::nullopt;
}

std::optional<std::string> by_frames(const Spots& spots) {
  const auto is_clip = [](const Spot& spot) { return spot.on_grid && spot.groups > 1; };
  if (is_the_set(spots, [&](const Spot& s) { return is_clip(s) && s.t == 0; })) {
    return "the first frame group";
  }
  if (is_the_set(spots, [&](const Spot& s) { return is_clip(s) && s.t + 1 == s.groups; })) {
    return "the last frame group";
  }
  return std::nullopt;
}

std::optional<std::string> by_rim(const Spots& spots) {
  const auto rim = [](const Spot& spot) {
    return spot.on_grid &&
           (spot.y == 0 || spot.x == 0 || spot.y + 1 == spot.height || spot.x + 1 == spot.width);
  };
  return is_the_set(spots, rim) ? std::optional<std::string>("the rim of the picture")
                                : std::nullopt;
}

// Classes that are the same in one item and in many.
std::string within_items(const Spots& spots, const PlaceLayout& layout) {
  for (const auto& found :
       {by_frames(spots), by_windows(spots, layout), by_stride(spots), by_rim(spots)}) {
    if (found) return *found;
  }
  return std::to_string(count_bad(spots)) + " of " +
         count_of(static_cast<std::int64_t>(spots.size())) + ", scattered";
}

bool almost_all(const Spots& spots) {
  return static_cast<double>(count_bad(spots)) >= least_share * static_cast<double>(spots.size());
}

std::optional<std::string> last_of(const Spots& spots, const std::string& of_what) {
  const std::int64_t bad = count_bad(spots);
  const std::int64_t start = std::ssize(spots) - bad;
  const std::int64_t offset = spots.front().place;
  if (bad < 2 || !is_the_set(spots, [=](const Spot& s) { return s.place - offset >= start; })) {
    return std::nullopt;
  }
  return "the last " + count_of(bad) + of_what;
}

std::optional<std::string> by_rank(const Spots& spots, std::span<const PlaceItem> items) {
  std::set<std::int64_t> ranks;
  for (const Spot& spot : spots) {
    if (spot.bad && items[spot.item].rank) ranks.insert(*items[spot.item].rank);
  }
  for (const std::int64_t rank : ranks) {
    if (is_the_set(spots, [&](const Spot& spot) { return items[spot.item].rank == rank; })) {
      return "all items of rank " + std::to_string(rank);
    }
  }
  return std::nullopt;
}

// Infinite for what is not finite, and for any error where none is allowed.
double share_of_limit(const ItemReport& item) {
  const double share = item.used();
  return std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
}

std::string in_one_item(const Spots& spots, const PlaceItem& item, const PlaceLayout& layout) {
  if (almost_all(spots)) return "all tokens of item " + item.name;
  if (const auto last = last_of(spots, "")) return "item " + item.name + ": " + *last;
  return "item " + item.name + ": " + within_items(spots, layout);
}

}  // namespace

std::string bad_tokens_in_words(std::span<const PlaceItem> items, const PlaceLayout& layout) {
  const Spots spots = spots_of(items, layout);
  if (count_bad(spots) == 0) return "";
  if (almost_all(spots)) return "all tokens";
  std::set<std::size_t> bad_items;
  for (const Spot& spot : spots) {
    if (spot.bad) bad_items.insert(spot.item);
  }
  if (bad_items.size() == 1 && items.size() > 1) {
    Spots inside;
    std::copy_if(spots.begin(), spots.end(), std::back_inserter(inside),
                 [&](const Spot& spot) { return spot.item == *bad_items.begin(); });
    return in_one_item(inside, items[*bad_items.begin()], layout);
  }
  if (const auto rank = by_rank(spots, items)) return *rank;
  if (const auto last = last_of(spots, " of the batch")) return *last;
  return within_items(spots, layout);
}

void locate(const GridThw& grid, const PatchLayout& patches, Worst& worst) {
  const std::int64_t height = grid.h / patches.merge_size;
  const std::int64_t width = grid.w / patches.merge_size;
  if (height <= 0 || width <= 0 || worst.token >= grid.t * height * width) return;
  const std::int64_t side = patches.factor();
  const std::int64_t y = worst.token / width % height;
  const std::int64_t x = worst.token % width;
  worst.box_px = {x * side, y * side, (x + 1) * side, (y + 1) * side};
  if (grid.t == 1) return;
  const std::int64_t group = worst.token / (height * width);
  worst.frames = {group * patches.temporal_patch_size,
                  (group + 1) * patches.temporal_patch_size - 1};
}

std::optional<Worst> worst_of(std::span<const PairReport> pairs, const PlaceLayout& layout,
                              const std::vector<std::pair<std::string, std::int64_t>>& ranks) {
  const PairReport* pair = nullptr;
  const ItemReport* worst = nullptr;
  double share = 0;
  for (const PairReport& candidate : pairs) {
    for (const ItemReport& item : candidate.items) {
      const double used = share_of_limit(item);
      if (worst != nullptr && !(used > share)) continue;
      share = used;
      pair = &candidate;
      worst = &item;
    }
  }
  if (worst == nullptr) return std::nullopt;

  Worst found;
  found.pair = pair->a + " against " + pair->b;
  found.item = worst->item;
  found.tensor = worst->tensor;
  found.token = worst->comparison.worst_token;
  found.value = worst->comparison.worst_error;
  found.limit = worst->limit;
  if (worst->grid && layout.patches) locate(*worst->grid, *layout.patches, found);
  std::vector<PlaceItem> places;
  for (const ItemReport& item : pair->items) {
    if (item.tensor != worst->tensor) continue;
    const auto rank = std::find_if(ranks.begin(), ranks.end(),
                                   [&](const auto& entry) { return entry.first == item.item; });
    places.push_back({item.item, item.grid, item.comparison.errors, item.limit,
                      rank == ranks.end() ? std::nullopt : std::optional(rank->second)});
  }
  found.pattern = bad_tokens_in_words(places, layout);
  return found;
}

}  // namespace vtower
