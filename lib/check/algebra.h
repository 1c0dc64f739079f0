// What turns one dump into the other, found from the numbers alone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "check/token_rows.h"

namespace vtower {

// One tensor of one item on both sides. The shapes may differ: items may have been exchanged.
struct AlgebraItem {
  std::string name;
  TokenRows a;
  TokenRows b;
};

struct AlgebraFinding {
  std::string sentence;  // "rows of item x.png reversed", "b is a scaled by 1.86"
  double residual = 0;   // worst token error (Scale::smaller) that is left of what it explains
};

struct AlgebraOptions {
  double limit = 0;  // of a token's error
  int threads = 1;
};

// Findings for the items that are beyond the limit, no two for one item. Each leaves a residual
// within the limit, and no more than half of the mismatch that was there: what is a little beyond
// the limit is explained by nothing. Order in which explanations are tried: rows that are zero or
// not finite on one side, items exchanged, rows shifted, rows permuted, scale, L2 normalisation,
// scale by channel, offset. Costs some passes over the data and grows with rows * width.
// Thread-safe. Throws as compare_items() does.
std::vector<AlgebraFinding> find_algebra(std::span<const AlgebraItem> items,
                                         const AlgebraOptions& options);

}  // namespace vtower
