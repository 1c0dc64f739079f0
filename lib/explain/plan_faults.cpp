// Faults of sequences, windows and positions: another plan for the same rows.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "explain/fault.h"
#include "explain/patch_bytes.h"

namespace vtower::explain {
namespace {

using Offsets = std::vector<std::int32_t>;

Fault planned(const std::string& id, const std::string& variant, const std::string& sentence,
              std::function<void(SeqPlan&)> plan) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.plan = std::move(plan);
  return fault;
}

Fault in_batch(Fault fault) {
  fault.needs_batch = true;
  return fault;
}

Offsets offsets_of(const std::vector<std::int32_t>& lengths) {
  Offsets offsets{0};
  for (const std::int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<std::int32_t> lengths_of(const Offsets& offsets) {
  std::vector<std::int32_t> lengths;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    lengths.push_back(offsets[i + 1] - offsets[i]);
  }
  return lengths;
}

// The rows of each token as the plan would have them without windows.
std::vector<std::int32_t> positions_in_input_order(const SeqPlan& plan) {
  const std::size_t group = plan.rope_positions.size() / plan.window_order.size();
  std::vector<std::int32_t> positions(plan.rope_positions.size());
  for (std::size_t place = 0; place < plan.window_order.size(); ++place) {
    const auto token = static_cast<std::size_t>(plan.window_order[place]);
    std::copy_n(plan.rope_positions.begin() + static_cast<std::ptrdiff_t>(place * group), group,
                positions.begin() + static_cast<std::ptrdiff_t>(token * group));
  }
  return positions;
}

void stay_in_order(std::vector<std::int64_t>& order) {
  std::iota(order.begin(), order.end(), 0);
}

void add_window_faults(std::vector<Fault>& faults, const SeqPlan& sound) {
  if (!std::is_sorted(sound.window_order.begin(), sound.window_order.end())) {
    faults.push_back(planned("window_order_missing", "",
                             "rows were never put in window order: windows cut through the "
                             "picture's rows",
                             [](SeqPlan& plan) {
                               plan.rope_positions = positions_in_input_order(plan);
                               stay_in_order(plan.window_order);
                               plan.window_inverse = plan.window_order;
                             }));
    faults.push_back(planned("window_inverse_missing", "", "the output stayed in window order",
                             [](SeqPlan& plan) { stay_in_order(plan.window_inverse); }));
    faults.push_back(planned("window_inverse_missing", "order-for-inverse",
                             "the output was put in window order again instead of back",
                             [](SeqPlan& plan) { plan.window_inverse = plan.window_order; }));
    faults.push_back(
        planned("window_rope_unpermuted", "",
                "rotary positions stayed in input order while rows went to windows",
                [](SeqPlan& plan) { plan.rope_positions = positions_in_input_order(plan); }));
  }
  if (sound.window_cu_seqlens != sound.frame_cu_seqlens) {
    faults.push_back(
        planned("window_all_full", "", "every block attends over whole frames, windows are ignored",
                [](SeqPlan& plan) { plan.window_cu_seqlens = plan.frame_cu_seqlens; }));
    faults.push_back(
        planned("window_all_windowed", "",
                "every block attends within windows, also those of full attention",
                [](SeqPlan& plan) { plan.frame_cu_seqlens = plan.window_cu_seqlens; }));
    faults.push_back(
        planned("window_all_windowed", "exchanged",
                "blocks of full attention and windowed blocks are exchanged",
                [](SeqPlan& plan) { std::swap(plan.frame_cu_seqlens, plan.window_cu_seqlens); }));
  }
}

// Boundaries that belong to other frames of the same total.
void add_segment_faults(std::vector<Fault>& faults, const Setting& setting, const SeqPlan& sound) {
  std::vector<std::pair<std::string, Offsets>> known{{"", sound.frame_cu_seqlens}};
  const auto add = [&](const std::string& id, const std::string& variant,
                       const std::string& sentence, const Offsets& offsets) {
    for (const auto& [name, taken] : known) {
      if (taken == offsets) return;
    }
    known.emplace_back(variant, offsets);
    const bool batch = setting.grids.size() > 1;
    Fault fault = planned(id, variant, sentence,
                          [offsets](SeqPlan& plan) { plan.frame_cu_seqlens = offsets; });
    fault.needs_batch = batch;
    faults.push_back(std::move(fault));
  };
  const auto rows = static_cast<std::int32_t>(sound.rows);
  std::vector<std::int32_t> per_item;
  for (const GridThw& grid : setting.grids) {
    per_item.push_back(static_cast<std::int32_t>(grid.patches()));
  }
  add("segments_merged", "items", "the frames of a clip attend to each other",
      offsets_of(per_item));
  add("segments_merged", "all", "all items of the batch attend to each other", {0, rows});
  const std::vector<std::int32_t> lengths = lengths_of(sound.frame_cu_seqlens);
  std::vector<std::int32_t> other(lengths.rbegin(), lengths.rend());
  add("segments_of_previous", "reversed",
      "sequence boundaries are those of another batch of the same total", offsets_of(other));
  for (std::size_t by = 1; by < lengths.size() && lengths.size() <= 16; ++by) {
    other = lengths;
    std::rotate(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(by), other.end());
    add("segments_of_previous", "rotated-" + std::to_string(by),
        "sequence boundaries are those of another batch of the same total", offsets_of(other));
  }
  for (std::size_t i = 0; i < lengths.size() && lengths.size() <= 16; ++i) {
    if (lengths[i] >= rows) continue;
    // The boundaries of a batch that was item i alone, the rest following as one sequence.
    add("segments_of_previous", "item-" + std::to_string(i),
        "sequence boundaries are those of an earlier, shorter batch", {0, lengths[i], rows});
  }
  for (const std::int32_t parts : {2, 4}) {
    if (rows % (parts * 4) != 0) continue;
    add("segments_of_previous", "equal-" + std::to_string(parts),
        "sequence boundaries are those of a batch of equal items",
        offsets_of(std::vector<std::int32_t>(static_cast<std::size_t>(parts), rows / parts)));
  }
}

void add_position_faults(std::vector<Fault>& faults, const Setting& setting) {
  faults.push_back(planned("rope_xy_swapped", "", "rotary positions take x for y and y for x",
                           [](SeqPlan& plan) {
                             for (std::size_t i = 0; i + 1 < plan.rope_positions.size(); i += 2) {
                               std::swap(plan.rope_positions[i], plan.rope_positions[i + 1]);
                             }
                           }));
  const VisionConfig config = setting.config;
  const bool square = std::all_of(setting.grids.begin(), setting.grids.end(),
                                  [](const GridThw& grid) { return grid.h == grid.w; });
  if (!square) {
    faults.push_back(planned("hw_swapped", "grid", "height and width of the grid are exchanged",
                             [config](SeqPlan& plan) {
                               std::vector<GridThw> turned = plan.grids;
                               for (GridThw& grid : turned) std::swap(grid.h, grid.w);
                               SeqPlan other = make_seq_plan(config, turned);
                               other.grids = plan.grids;
                               plan = std::move(other);
                             }));
  }
  faults.push_back(
      planned("raster_order", "positions",
              "rotary positions are in raster order, the rows in blocks", [config](SeqPlan& plan) {
                std::size_t i = 0;
                for (const GridThw& grid : plan.grids) {
                  for (std::int64_t row = 0; row < grid.patches(); ++row) {
                    const std::int64_t place = row % (grid.h * grid.w);
                    plan.rope_positions[i++] = static_cast<std::int32_t>(place / grid.w);
                    plan.rope_positions[i++] = static_cast<std::int32_t>(place % grid.w);
                  }
                }
              }));
}

// The taps of every row, from a rule for one axis: table place (fractional) of index i of `count`.
using AxisPlace = std::function<double(std::int64_t i, std::int64_t count, std::int64_t side)>;

enum class Between { interpolated, nearest, floor };

void retap(SeqPlan& plan, std::int64_t side, Between between, const AxisPlace& axis) {
  const auto rows = static_cast<std::size_t>(plan.rows);
  std::size_t row = 0;
  for (const GridThw& grid : plan.grids) {
    for (std::int64_t k = 0; k < grid.patches(); ++k, ++row) {
      const double last = static_cast<double>(side - 1);
      double y = std::clamp(axis(plan.rope_positions[2 * row], grid.h, side), 0.0, last);
      double x = std::clamp(axis(plan.rope_positions[2 * row + 1], grid.w, side), 0.0, last);
      if (between == Between::nearest) y = std::round(y), x = std::round(x);
      if (between == Between::floor) y = std::floor(y), x = std::floor(x);
      const auto y0 = static_cast<std::int64_t>(y);
      const auto x0 = static_cast<std::int64_t>(x);
      const double dy = y - static_cast<double>(y0);
      const double dx = x - static_cast<double>(x0);
      for (std::size_t corner = 0; corner < 4; ++corner) {
        const std::int64_t cy = std::min(y0 + (corner / 2 == 1 ? 1 : 0), side - 1);
        const std::int64_t cx = std::min(x0 + (corner % 2 == 1 ? 1 : 0), side - 1);
        plan.position_taps[corner * rows + row] = static_cast<std::int32_t>(cy * side + cx);
        plan.position_weights[corner * rows + row] =
            static_cast<float>((corner / 2 == 1 ? dy : 1 - dy) * (corner % 2 == 1 ? dx : 1 - dx));
      }
    }
  }
}

void add_table_faults(std::vector<Fault>& faults, std::int64_t side) {
  const auto add = [&](const std::string& id, const std::string& variant,
                       const std::string& sentence, Between between, const AxisPlace& axis) {
    faults.push_back(
        planned(id, variant, sentence, [=](SeqPlan& plan) { retap(plan, side, between, axis); }));
  };
  const AxisPlace half_pixel = [](std::int64_t i, std::int64_t count, std::int64_t places) {
    return (static_cast<double>(i) + 0.5) * static_cast<double>(places) /
               static_cast<double>(count) -
           0.5;
  };
  const AxisPlace corners = [](std::int64_t i, std::int64_t count, std::int64_t places) {
    return count > 1 ? static_cast<double>(i * (places - 1)) / static_cast<double>(count - 1) : 0.0;
  };
  const AxisPlace no_corner = [](std::int64_t i, std::int64_t count, std::int64_t places) {
    return static_cast<double>(i * places) / static_cast<double>(count);
  };
  const AxisPlace direct = [](std::int64_t i, std::int64_t, std::int64_t) {
    return static_cast<double>(i);
  };
  add("position_taps_half_pixel", "",
      "the position table is sampled at pixel centres (align_corners=false)", Between::interpolated,
      half_pixel);
  add("position_taps_half_pixel", "unaligned",
      "the position table is sampled by side / length, without aligned corners",
      Between::interpolated, no_corner);
  add("position_table_unresampled", "", "the position table is indexed by patch, not interpolated",
      Between::floor, direct);
  add("position_table_unresampled", "nearest",
      "the position table is sampled at the nearest entry, not interpolated", Between::nearest,
      corners);
  add("position_table_unresampled", "floor",
      "the position table is sampled at the entry before, not interpolated", Between::floor,
      corners);
}

}  // namespace

std::vector<Fault> plan_faults(const Setting& setting) {
  const SeqPlan sound = make_seq_plan(setting.config, setting.grids);
  std::vector<Fault> faults;
  add_segment_faults(faults, setting, sound);
  add_position_faults(faults, setting);
  if (!sound.window_cu_seqlens.empty()) add_window_faults(faults, sound);
  if (!sound.position_taps.empty()) add_table_faults(faults, setting.config.position_table_side);
  return faults;
}

std::vector<Fault> padding_faults(const Setting& setting) {
  std::int64_t rows = 0;
  for (const GridThw& grid : setting.grids) rows += grid.patches();
  const std::int64_t merge = setting.config.layout.merge_size;
  std::vector<std::int64_t> totals{(rows / 64 + 1) * 64, (rows + 63) / 64 * 64};
  for (std::int64_t power = 64; power < 4 * rows; power *= 2) {
    if (power > rows) totals.push_back(power);
  }
  std::sort(totals.begin(), totals.end());
  totals.erase(std::unique(totals.begin(), totals.end()), totals.end());
  std::vector<Fault> faults;
  for (const std::int64_t total : totals) {
    const std::int64_t padding = total - rows;
    if (padding <= 0 || padding % (merge * merge) != 0) continue;
    const GridThw grid{1, merge, padding / merge};
    for (const bool at_origin : {false, true}) {
      Fault fault = in_batch(
          planned("padding_leaked", std::to_string(total) + (at_origin ? "-at-origin" : ""),
                  "the last sequence attends to padding rows (a batch of " + std::to_string(total) +
                      " rows)",
                  [=](SeqPlan& plan) {
                    // Its own sequence begins where the items end: that boundary is left out.
                    const auto items = static_cast<std::int32_t>(rows);
                    std::erase(plan.frame_cu_seqlens, items);
                    if (!plan.window_cu_seqlens.empty()) std::erase(plan.window_cu_seqlens, items);
                    if (!at_origin) return;
                    std::fill(plan.rope_positions.begin() + static_cast<std::ptrdiff_t>(2 * rows),
                              plan.rope_positions.end(), 0);
                  }));
      fault.pixels = [grid](const RawPatches& patches) {
        return PatchBytes::with_item(patches, grid, 0);
      };
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

}  // namespace vtower::explain
