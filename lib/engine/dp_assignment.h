// Which rank runs which items.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/grid_thw.h"

namespace vtower {

struct VisionConfig;

// What an item costs a tower, in floating-point operations: per_row for each patch, per_pair for
// each pair of patches that attend to each other in blocks of full attention (a frame's patches).
// Attention inside windows is linear in the patches and part of per_row.
struct DpCost {
  double per_row = 0;
  double per_pair = 0;

  [[nodiscard]] double of(const GridThw& grid) const noexcept;
};

DpCost dp_cost(const VisionConfig& config);

enum class DpBalance {
  cost,     // by DpCost
  patches,  // by patches, as vLLM 0.33.0 does it
};

struct DpAssignment {
  std::vector<std::vector<std::size_t>> items;  // [rank] indices into the request
  std::vector<double> loads;                    // [rank] sum of the items' costs, or patches
};

// Every item goes to exactly one rank; ranks beyond the items stay empty. Deterministic, so every
// rank finds the same. `ranks` >= 1.
//   patches: largest first (ties in request order) to the least loaded rank (ties: the lowest);
//            items stay in the order in which they were given.
//   cost:    the same by cost, then moves and swaps that lower the largest load; items ascending.
DpAssignment assign_items(std::span<const GridThw> grids, int ranks, DpBalance balance,
                          const DpCost& cost);

}  // namespace vtower
