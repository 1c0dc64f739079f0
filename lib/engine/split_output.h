// A batch's output cut into its items.
#pragma once

#include <span>
#include <vector>

#include "engine/runner.h"

namespace vtower {

enum class Ownership {
  view,  // of the batch's own tensors
  copy,  // out of buffers that the next batch overwrites
};

// Rows beyond the items' tokens (padding) are left out.
std::vector<ItemEmbeddings> split_output(const TowerOutput& output, std::span<const GridThw> grids,
                                         std::int64_t merge_size, Ownership ownership);

}  // namespace vtower
