// Which row of one side is which row of the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/token_rows.h"

namespace vtower {

struct RowMatch {
  // For each row of b the row of a whose values it holds; empty where none is within the limit.
  // No row of a stands twice.
  std::vector<std::optional<std::int64_t>> source;
  double residual = 0;  // largest error of the matched rows (Scale::smaller)
};

// Rows are counted through the parts of a side, all of one width. Candidates are found through
// projections on eight directions, so the cost grows with rows * width, not with pairs of rows;
// empty, at the cost of a sample, where less than a third of b's rows has a source. Thread-safe.
std::optional<RowMatch> match_rows(std::span<const TokenRows> a, std::span<const TokenRows> b,
                                   double limit);

// What a match does to the rows of one item.
struct RowOrder {
  // Completes "rows of item x ...": "reversed", "rolled by 3", "transposed (4 x 6 as 6 x 4)",
  // "shifted by 2: the first 2 of a are missing", "permuted".
  std::string words;
  std::int64_t moved = 0;  // rows, where "permuted" is all that can be said
};

// Empty where rows stay in place, or where too few are matched for any of these.
std::optional<RowOrder> describe_order(const RowMatch& match, std::int64_t rows_of_a);

}  // namespace vtower
