// The row counts that padded batches are rounded up to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace vtower {

class BudgetLadder {
 public:
  // Row counts in any order. Throws Error{usage} when there is none, or one is not a positive
  // multiple of `group` (rows of a token).
  BudgetLadder(std::vector<std::int64_t> rows, std::int64_t group);

  // From `smallest` rows up to `largest`, each step at most `step` times the one before.
  static BudgetLadder geometric(std::int64_t smallest, std::int64_t largest, double step,
                                std::int64_t group);

  // The smallest budget that holds `rows`; empty above the largest.
  [[nodiscard]] std::optional<std::int64_t> smallest_for(std::int64_t rows) const;
  [[nodiscard]] std::int64_t largest() const noexcept { return rows_.back(); }
  [[nodiscard]] const std::vector<std::int64_t>& rows() const noexcept { return rows_; }

 private:
  std::vector<std::int64_t> rows_;  // ascending, each once
};

}  // namespace vtower
