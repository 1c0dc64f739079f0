#include "tower/seq_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/error.h"

namespace vtower {
namespace {

void append_offset(std::vector<std::int32_t>& cu_seqlens, std::int64_t length) {
  cu_seqlens.push_back(static_cast<std::int32_t>(cu_seqlens.back() + length));
}

// (y, x) of the patches of one temporal group in merge order.
template <typename Visit>
void for_each_patch(const GridThw& grid, std::int64_t merge, Visit visit) {
  for (std::int64_t block_y = 0; block_y < grid.h; block_y += merge) {
    for (std::int64_t block_x = 0; block_x < grid.w; block_x += merge) {
      for (std::int64_t y = block_y; y < block_y + merge; ++y) {
        for (std::int64_t x = block_x; x < block_x + merge; ++x) visit(y, x);
      }
    }
  }
}

std::vector<std::int32_t> rope_positions(std::span<const GridThw> grids, std::int64_t merge) {
  std::vector<std::int32_t> positions;
  for (const GridThw& grid : grids) {
    for (std::int64_t t = 0; t < grid.t; ++t) {
      for_each_patch(grid, merge, [&](std::int64_t y, std::int64_t x) {
        positions.push_back(static_cast<std::int32_t>(y));
        positions.push_back(static_cast<std::int32_t>(x));
      });
    }
  }
  return positions;
}

// Windows row by row, tokens row by row within a window; windows at the rims are smaller.
void plan_windows(SeqPlan& plan, const VisionConfig& config) {
  const std::int64_t merge = config.layout.merge_size;
  const std::int64_t side = config.window_tokens();
  plan.window_cu_seqlens = {0};
  plan.window_order.reserve(static_cast<std::size_t>(plan.tokens));
  std::int64_t first_token = 0;
  for (const GridThw& grid : plan.grids) {
    const std::int64_t h = grid.h / merge;
    const std::int64_t w = grid.w / merge;
    for (std::int64_t t = 0; t < grid.t; ++t, first_token += h * w) {
      for (std::int64_t top = 0; top < h; top += side) {
        for (std::int64_t left = 0; left < w; left += side) {
          const std::int64_t bottom = std::min(top + side, h);
          const std::int64_t right = std::min(left + side, w);
          for (std::int64_t y = top; y < bottom; ++y) {
            for (std::int64_t x = left; x < right; ++x) {
              plan.window_order.push_back(first_token + y * w + x);
            }
          }
          append_offset(plan.window_cu_seqlens, (bottom - top) * (right - left) * merge * merge);
        }
      }
    }
  }
  plan.window_inverse.resize(plan.window_order.size());
  for (std::size_t place = 0; place < plan.window_order.size(); ++place) {
    plan.window_inverse[static_cast<std::size_t>(plan.window_order[place])] =
        static_cast<std::int64_t>(place);
  }
}

// The rows of each token, moved with the token.
std::vector<std::int32_t> in_window_order(const std::vector<std::int32_t>& positions,
                                          const std::vector<std::int64_t>& order,
                                          std::int64_t merge) {
  const auto group = static_cast<std::size_t>(merge * merge * 2);
  std::vector<std::int32_t> moved;
  moved.reserve(positions.size());
  for (const std::int64_t token : order) {
    const auto begin =
        positions.begin() + static_cast<std::ptrdiff_t>(token) * static_cast<std::ptrdiff_t>(group);
    moved.insert(moved.end(), begin, begin + static_cast<std::ptrdiff_t>(group));
  }
  return moved;
}

struct Taps {
  std::array<std::int32_t, 2> index;
  std::array<float, 2> weight;
};

// Linear interpolation along one axis with the corners aligned, float32 throughout.
std::vector<Taps> axis_taps(std::int64_t length, std::int64_t table_side) {
  std::vector<Taps> taps;
  const auto last = static_cast<std::int32_t>(table_side - 1);
  const auto steps = static_cast<float>(std::max<std::int64_t>(length - 1, 1));
  for (std::int64_t i = 0; i < length; ++i) {
    const float place = static_cast<float>(i) * static_cast<float>(last) / steps;
    const float floor = std::floor(place);
    const auto low = static_cast<std::int32_t>(floor);
    taps.push_back({{std::min(low, last), std::min(low + 1, last)},
                    {std::max(0.0F, 1.0F - std::abs(place - floor)),
                     std::max(0.0F, 1.0F - std::abs(place - floor - 1.0F))}});
  }
  return taps;
}

void plan_position_taps(SeqPlan& plan, const VisionConfig& config) {
  const std::int64_t side = config.position_table_side;
  const auto rows = static_cast<std::size_t>(plan.rows);
  plan.position_taps.resize(4 * rows);
  plan.position_weights.resize(4 * rows);
  std::size_t row = 0;
  for (const GridThw& grid : plan.grids) {
    const std::vector<Taps> vertical = axis_taps(grid.h, side);
    const std::vector<Taps> horizontal = axis_taps(grid.w, side);
    for (std::int64_t t = 0; t < grid.t; ++t) {
      for_each_patch(grid, config.layout.merge_size, [&](std::int64_t y, std::int64_t x) {
        const Taps& v = vertical[static_cast<std::size_t>(y)];
        const Taps& h = horizontal[static_cast<std::size_t>(x)];
        for (std::size_t corner = 0; corner < 4; ++corner) {
          const std::size_t place = corner * rows + row;
          plan.position_taps[place] =
              v.index[corner / 2] * static_cast<std::int32_t>(side) + h.index[corner % 2];
          plan.position_weights[place] = v.weight[corner / 2] * h.weight[corner % 2];
        }
        ++row;
      });
    }
  }
}

}  // namespace

std::int64_t most_rows(const VisionConfig& config) {
  const std::int64_t widest =
      std::max({3 * config.width, config.mlp_width, config.layout.row_width()});
  return std::numeric_limits<std::int32_t>::max() / widest;
}

SeqPlan make_seq_plan(const VisionConfig& config, std::span<const GridThw> grids) {
  SeqPlan plan;
  plan.grids.assign(grids.begin(), grids.end());
  for (const GridThw& grid : grids) plan.rows += grid.patches();
  if (plan.rows > most_rows(config)) {
    throw Error(ErrorKind::too_large, "seq_plan",
                std::to_string(plan.rows) + " patches in one batch, this tower takes " +
                    std::to_string(most_rows(config)) +
                    ": offsets and kernels count elements in 32 bits; lower --max-pixels, the "
                    "frames or the budget");
  }
  plan.item_rows = plan.rows;
  const std::int64_t merge = config.layout.merge_size;
  plan.tokens = plan.rows / (merge * merge);
  plan.frame_cu_seqlens = {0};
  for (const GridThw& grid : grids) {
    for (std::int64_t t = 0; t < grid.t; ++t) append_offset(plan.frame_cu_seqlens, grid.h * grid.w);
  }
  plan.rope_positions = rope_positions(grids, merge);
  if (config.family == Family::qwen2_5_vl) {
    plan_windows(plan, config);
    plan.rope_positions = in_window_order(plan.rope_positions, plan.window_order, merge);
  }
  if (config.family == Family::qwen3_vl) plan_position_taps(plan, config);
  return plan;
}

}  // namespace vtower
