// Runs against the truth, token by token, within limits that were measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/policy.h"
#include "check/report.h"
#include "explain/explain.h"
#include "explain/yardstick.h"

namespace vtower::explain {

// One run, or one file, that is to be judged.
struct Side {
  std::string name;
  std::size_t placement = 0;  // of the yardstick: element type and device of the run
  // Tokens of an item, valid until the next call; empty where the side does not have it.
  std::function<ItemRows(std::size_t item)> rows;
};

// The items that all sides were made from.
struct JudgedItems {
  std::vector<std::string> names;
  std::function<RawPatches(std::size_t item)> load;  // may decode anew each time
};

struct JudgeOptions {
  Policy policy;
  int threads = 1;
  std::function<void(std::size_t done, std::size_t of)> on_progress;
};

// One report for each side, against "oracle". Items are loaded one after the other (with a
// neighbour), so memory does not grow with their number. Limit of a token: k times the floor of its
// item and tensor.
std::vector<PairReport> judge(const Yardstick& yardstick, const JudgedItems& items,
                              const std::vector<Side>& sides, const JudgeOptions& options);

// Items of a report with a tensor beyond its limit, the worst first, as places in `names`.
std::vector<std::size_t> failing_items(const PairReport& report,
                                       const std::vector<std::string>& names);

}  // namespace vtower::explain
