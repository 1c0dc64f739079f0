#include "cli/default_ladder.h"

namespace vtower::cli {

BudgetLadder default_ladder(const PatchLayout& layout) {
  return BudgetLadder::geometric(VTOWER_BUDGET_SMALLEST, VTOWER_BUDGET_LARGEST, VTOWER_BUDGET_STEP,
                                 layout.merge_size * layout.merge_size);
}

std::int64_t default_pack_rows() noexcept {
  return VTOWER_BUDGET_PACK;
}

}  // namespace vtower::cli
