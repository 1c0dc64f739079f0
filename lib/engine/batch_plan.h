// Which items share a batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/grid_thw.h"

namespace vtower {

struct Batch {
  std::vector<std::size_t> items;  // indices into the request, ascending
  std::int64_t rows = 0;           // patches
};

// Made once from the grids and followed by every runner. Every item is in exactly one batch.
struct BatchPlan {
  std::int64_t max_rows = 0;
  std::vector<Batch> batches;  // in order of their first item
};

// Packs by best fit, largest item first: each goes where it leaves the least room. An item above
// max_rows has a batch of its own. Deterministic: ties keep request order.
BatchPlan make_batch_plan(std::span<const GridThw> grids, std::int64_t max_rows);

}  // namespace vtower
