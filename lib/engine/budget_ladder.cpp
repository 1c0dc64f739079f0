#include "engine/budget_ladder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"

namespace vtower {

BudgetLadder::BudgetLadder(std::vector<std::int64_t> rows, std::int64_t group)
    : rows_(std::move(rows)) {
  if (rows_.empty()) throw Error(ErrorKind::usage, "budgets", "no budget was given");
  std::sort(rows_.begin(), rows_.end());
  rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
  for (const std::int64_t budget : rows_) {
    if (budget <= 0 || budget % group != 0) {
      throw Error(ErrorKind::usage, "budgets",
                  "budget " + std::to_string(budget) +
                      ": expected a positive number of rows divisible by " + std::to_string(group) +
                      " (the rows of a token)");
    }
  }
}

BudgetLadder BudgetLadder::geometric(std::int64_t smallest, std::int64_t largest, double step,
                                     std::int64_t group) {
  std::vector<std::int64_t> rows;
  for (std::int64_t budget = smallest; budget < largest;) {
    rows.push_back(budget);
    const auto next = static_cast<std::int64_t>(static_cast<double>(budget) * step);
    budget = std::max(budget + group, next / group * group);
  }
  rows.push_back(largest);
  return BudgetLadder(std::move(rows), group);
}

std::optional<std::int64_t> BudgetLadder::smallest_for(std::int64_t rows) const {
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), rows);
  if (found == rows_.end()) return std::nullopt;
  return *found;
}

}  // namespace vtower
