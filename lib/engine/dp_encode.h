// A data-parallel run: rank 0 leads, gathers and decides; the others follow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/dp_group.h"
#include "engine/dp_worker.h"
#include "engine/encode_items.h"

namespace vtower {

struct DpOptions {
  DpBalance balance = DpBalance::cost;
  std::function<void(const Progress&)> on_progress;  // on rank 0; may be empty
};

// A rank that did not do all its work.
struct DpLoss {
  int rank = 0;
  ErrorKind kind = ErrorKind::peer;
  std::string message;  // "rank 2 was killed by signal 9"
};

struct DpResult {
  std::vector<ItemResult> items;          // one for each input, in request order
  std::vector<std::optional<int>> ranks;  // [item] who ran it; empty where its header failed
  DpPlan plan;
  std::vector<DpLoss> lost;
  LedgerRecord ledger;  // of all ranks, as far as they told
};

// Rank 0 of a connected group. Results arrive as batches finish, through the group's link, each
// as long as it is. A failing item fails alone. A rank that ends, fails or neither finishes
// anything nor uses its processor for the group's timeout is lost: its missing items become
// failures of kind `peer`; the other ranks go on until that time has passed since the lost rank
// was last seen well. Throws Error when the run cannot begin, or the ranks are not alike
// (mode_unavailable, naming rank and difference). A worker that hangs is left behind on a thread:
// end the process without running destructors of what `prepare` made.
DpResult dp_lead(DpGroup& group, const std::function<DpWork()>& prepare, const DpOptions& options);

// Every other rank. Returns rank 0's verdict. Throws Error{peer} naming rank 0 when it is lost.
int dp_follow(DpGroup& group, const std::function<DpWork()>& prepare, const DpOptions& options);

}  // namespace vtower
