// Faults of the order in which pixels reach the tower.
#include <algorithm>
#include <numeric>
#include <utility>

#include "explain/fault.h"
#include "explain/patch_bytes.h"

namespace vtower::explain {
namespace {

using Order = std::vector<std::int64_t>;

// Value order within a row when its axes (channel, time, y, x) are read as another order of axes:
// `index` maps (c, t, y, x) to the place that the faulty code reads from.
template <typename Index>
Order column_order(const PatchLayout& layout, Index index) {
  Order order;
  for (std::int64_t c = 0; c < PatchLayout::channels; ++c) {
    for (std::int64_t t = 0; t < layout.temporal_patch_size; ++t) {
      for (std::int64_t y = 0; y < layout.patch_size; ++y) {
        for (std::int64_t x = 0; x < layout.patch_size; ++x) order.push_back(index(c, t, y, x));
      }
    }
  }
  return order;
}

// Row in merge order of the patch at (y, x) of a frame of `grid`.
std::int64_t merge_row(const GridThw& grid, std::int64_t merge, std::int64_t y, std::int64_t x) {
  const std::int64_t block = (y / merge) * (grid.w / merge) + x / merge;
  return block * merge * merge + (y % merge) * merge + x % merge;
}

// For each row, the row whose patch stands there; frame by frame.
template <typename Source>
Order row_order(std::span<const GridThw> grids, Source source) {
  Order order;
  std::int64_t first = 0;
  for (const GridThw& grid : grids) {
    for (std::int64_t t = 0; t < grid.t; ++t, first += grid.h * grid.w) {
      for (std::int64_t row = 0; row < grid.h * grid.w; ++row) {
        order.push_back(first + source(grid, row));
      }
    }
  }
  return order;
}

bool moves_anything(const Order& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return true;
  }
  return false;
}

bool has_video(std::span<const GridThw> grids) {
  return std::any_of(grids.begin(), grids.end(), [](const GridThw& grid) { return grid.t > 1; });
}

Fault columns(const std::string& id, const std::string& variant, const std::string& sentence,
              Order order) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.rank = Fault::Rank::likely;
  fault.pixels = [order = std::move(order)](const RawPatches& patches) {
    return PatchBytes::columns_moved(patches, order);
  };
  return fault;
}

// `source(grid, row)`: where row `row` of a frame takes its patch from.
template <typename Source>
Fault rows(const std::string& id, const std::string& variant, const std::string& sentence,
           Source source) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.rank = Fault::Rank::likely;
  fault.pixels = [source](const RawPatches& patches) {
    return PatchBytes::rows_moved(patches, row_order(patches.grids(), source));
  };
  return fault;
}

Fault frames(const std::string& variant, const std::string& sentence,
             std::function<std::int64_t(std::int64_t, std::int64_t)> source) {
  Fault fault;
  fault.id = "frames_shifted";
  fault.variant = variant;
  fault.sentence = sentence;
  fault.pixels = [source = std::move(source)](const RawPatches& patches) {
    return PatchBytes::frames_moved(patches, source);
  };
  return fault;
}

}  // namespace

std::vector<Fault> pixel_faults(const Setting& setting) {
  const PatchLayout layout = setting.config.layout;
  const std::int64_t p = layout.patch_size;
  const std::int64_t depth = layout.temporal_patch_size;
  const std::int64_t merge = layout.merge_size;
  const auto at = [=](std::int64_t c, std::int64_t t, std::int64_t y, std::int64_t x) {
    return ((c * depth + t) * p + y) * p + x;
  };
  std::vector<Fault> faults;
  faults.push_back(columns(
      "channels_swapped", "", "red and blue are swapped (BGR pixels)",
      column_order(layout, [=](auto c, auto t, auto y, auto x) { return at(2 - c, t, y, x); })));
  faults.push_back(columns("channels_swapped", "last",
                           "rows hold their channels last, the tower reads them first",
                           column_order(layout, [=](auto c, auto t, auto y, auto x) {
                             // The place that is read, as if its axes were (t, y, x, c).
                             const std::int64_t place = at(c, t, y, x);
                             const std::int64_t channel = place % 3;
                             const std::int64_t rest = place / 3;
                             return at(channel, rest / (p * p), rest / p % p, rest % p);
                           })));
  if (depth > 1) {
    faults.push_back(columns("temporal_order", "frame-first",
                             "rows hold the frame before the channel, the tower reads the channel "
                             "first",
                             column_order(layout, [=](auto c, auto t, auto y, auto x) {
                               const std::int64_t plane = c * depth + t;  // read
                               return at(plane % 3, plane / 3, y, x);     // written as (t, c)
                             })));
  }
  faults.push_back(columns(
      "hw_swapped", "in-patch", "the pixels of each patch are transposed",
      column_order(layout, [=](auto c, auto t, auto y, auto x) { return at(c, t, x, y); })));
  const auto raster = [=](const GridThw& grid, std::int64_t row) {
    return merge_row(grid, merge, row / grid.w, row % grid.w);
  };
  const auto from_raster = [=](const GridThw& grid, std::int64_t row) {
    // Where merge order holds the patch of place `row`, counted in raster order.
    const std::int64_t block = row / (merge * merge);
    const std::int64_t y = block / (grid.w / merge) * merge + row % (merge * merge) / merge;
    const std::int64_t x = block % (grid.w / merge) * merge + row % merge;
    return y * grid.w + x;
  };
  if (moves_anything(row_order(setting.grids, raster))) {
    faults.push_back(rows("raster_order", "",
                          "rows came in raster order, the tower assumes blocks of merge_size",
                          raster));
    faults.push_back(
        rows("raster_order", "twice", "rows were put in merge order twice", from_raster));
  }
  const auto transposed = [=](const GridThw& grid, std::int64_t row) {
    const GridThw turned{grid.t, grid.w, grid.h};
    const std::int64_t place = from_raster(turned, row);
    return merge_row(grid, merge, place % turned.w, place / turned.w);
  };
  faults.push_back(rows("hw_swapped", "rows", "patches came column by column", transposed));
  if (has_video(setting.grids)) {
    faults.push_back(frames("reversed", "the frames of clips came in reverse",
                            [](auto f, auto count) { return count - 1 - f; }));
    faults.push_back(frames("by-one", "each frame of a clip shows the frame before it",
                            [](auto f, auto) { return f - 1; }));
    faults.push_back(frames("by-minus-one", "each frame of a clip shows the frame after it",
                            [](auto f, auto) { return f + 1; }));
    faults.push_back(frames("by-group", "each temporal group of a clip shows the one before it",
                            [=](auto f, auto) { return f - depth; }));
    faults.push_back(frames("by-minus-group",
                            "each temporal group of a clip shows the one after it",
                            [=](auto f, auto) { return f + depth; }));
    Fault order = frames("", "the frames of each temporal group are swapped",
                         [=](auto f, auto) { return f / depth * depth + (depth - 1 - f % depth); });
    order.id = "temporal_order";
    order.variant = "swapped";
    faults.push_back(std::move(order));
  }
  return faults;
}

}  // namespace vtower::explain
