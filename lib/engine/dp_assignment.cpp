#include "engine/dp_assignment.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tower/linear_work.h"
#include "tower/seq_plan.h"

namespace vtower {
namespace {

DpAssignment largest_first(std::span<const double> sizes, int ranks) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  const auto count = static_cast<std::size_t>(ranks);
  DpAssignment result{std::vector<std::vector<std::size_t>>(count), std::vector<double>(count)};
  for (const std::size_t item : order) {
    const auto least = std::min_element(result.loads.begin(), result.loads.end());
    *least += sizes[item];
    result.items[static_cast<std::size_t>(least - result.loads.begin())].push_back(item);
  }
  return result;
}

// An item of the fullest rank that goes to another one, for an item of its own or for none.
struct Exchange {
  std::size_t from_place = 0;
  std::size_t rank = 0;
  std::optional<std::size_t> back_place;
  double moved = 0;  // load that leaves the fullest rank
  double peak = 0;   // the larger of the two loads afterwards
};

std::optional<Exchange> best_exchange(const DpAssignment& now, std::span<const double> sizes,
                                      std::size_t fullest) {
  const double load = now.loads[fullest];
  std::optional<Exchange> best;
  const auto offer = [&](const Exchange& exchange) {
    // A gain below rounding would let loads wander for ever.
    const double limit = best ? best->peak : load * (1 - 1e-9);
    if (exchange.peak < limit) best = exchange;
  };
  for (std::size_t r = 0; r < now.items.size(); ++r) {
    if (r == fullest) continue;
    for (std::size_t i = 0; i < now.items[fullest].size(); ++i) {
      const double size = sizes[now.items[fullest][i]];
      const auto peak = [&](double moved) { return std::max(load - moved, now.loads[r] + moved); };
      offer({i, r, std::nullopt, size, peak(size)});
      for (std::size_t j = 0; j < now.items[r].size(); ++j) {
        const double moved = size - sizes[now.items[r][j]];
        if (moved > 0) offer({i, r, j, moved, peak(moved)});
      }
    }
  }
  return best;
}

void refine(DpAssignment& now, std::span<const double> sizes) {
  if (sizes.empty()) return;
  // No assignment can be better than the mean load, or than the largest item alone.
  const double bound = std::max(std::accumulate(now.loads.begin(), now.loads.end(), 0.0) /
                                    static_cast<double>(now.loads.size()),
                                *std::max_element(sizes.begin(), sizes.end()));
  std::size_t looks = 100'000'000;  // pairs of items; a set of many items is even without them
  while (true) {
    const auto fullest = static_cast<std::size_t>(
        std::max_element(now.loads.begin(), now.loads.end()) - now.loads.begin());
    const std::size_t pairs = now.items[fullest].size() * sizes.size();
    if (now.loads[fullest] <= bound * 1.001 || pairs > looks) return;
    looks -= pairs;
    const auto exchange = best_exchange(now, sizes, fullest);
    if (!exchange) return;
    std::vector<std::size_t>& from = now.items[fullest];
    std::vector<std::size_t>& to = now.items[exchange->rank];
    if (exchange->back_place) {
      std::swap(from[exchange->from_place], to[*exchange->back_place]);
    } else {
      to.push_back(from[exchange->from_place]);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(exchange->from_place));
    }
    now.loads[fullest] -= exchange->moved;
    now.loads[exchange->rank] += exchange->moved;
  }
}

}  // namespace

double DpCost::of(const GridThw& grid) const noexcept {
  const auto frame = static_cast<double>(grid.h * grid.w);
  return static_cast<double>(grid.t) * frame * (per_row + per_pair * frame);
}

DpCost dp_cost(const VisionConfig& config) {
  const auto width = static_cast<double>(config.width);
  const auto depth = static_cast<double>(config.depth);
  double full_blocks = depth;
  double window_rows = 0;
  if (config.family == Family::qwen2_5_vl) {
    full_blocks = static_cast<double>(config.full_attention_blocks.size());
    const auto side = static_cast<double>(config.window_tokens());
    window_rows =
        side * side * static_cast<double>(config.layout.merge_size * config.layout.merge_size);
  }
  const double pair = 4 * width;  // scores and their product with the values
  DpCost cost;
  cost.per_row = linear_work_per_row(config) + (depth - full_blocks) * pair * window_rows;
  cost.per_pair = full_blocks * pair;
  return cost;
}

DpAssignment assign_items(std::span<const GridThw> grids, int ranks, DpBalance balance,
                          const DpCost& cost) {
  std::vector<double> sizes;
  sizes.reserve(grids.size());
  for (const GridThw& grid : grids) {
    sizes.push_back(balance == DpBalance::patches ? static_cast<double>(grid.patches())
                                                  : cost.of(grid));
  }
  DpAssignment result = largest_first(sizes, ranks);
  if (balance == DpBalance::cost) {
    refine(result, sizes);
    for (auto& items : result.items) std::sort(items.begin(), items.end());
  }
  return result;
}

}  // namespace vtower
