// configs/budgets.json as the build took it in.
#pragma once

#include "core/patch_layout.h"
#include "engine/budget_ladder.h"

namespace vtower::cli {

// In whole tokens of the layout.
BudgetLadder default_ladder(const PatchLayout& layout);

// Rows that a batch on a GPU is packed up to.
std::int64_t default_pack_rows() noexcept;

}  // namespace vtower::cli
