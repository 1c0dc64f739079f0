// Whether the gate can fail: every fault of the catalogue planted into the user's own run, at
// falling strength.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/policy.h"
#include "explain/fault_search.h"

namespace vtower::explain {

enum class Naming {
  right,      // named, alone or as one of a set
  nothing,    // caught, and no fault named
  wrong,      // another one was named
  not_asked,  // not caught
};

// One fault. Strength s: each token is s times as far from the sound one as under the fault.
struct SelftestRow {
  std::string id;
  std::string variant;
  std::string sentence;
  double effect = 0;  // worst token error under the fault, in limits
  bool caught = false;
  Naming naming = Naming::not_asked;
  std::vector<std::string> also;          // the rest of a set
  std::optional<double> smallest_caught;  // strength; of 1, 1/2, 1/4, ...
  // Not caught, though it moves a token by more than twice what the default policy allows: this
  // policy lets through what it should catch.
  bool missed = false;
};

struct SelftestOptions {
  Policy policy;
  int threads = 1;
  std::function<void(std::size_t done, std::size_t of)> on_progress;
};

struct Selftest {
  std::vector<SelftestRow> rows;
  // The sound run is within its limits, as it must be.
  bool sound_passes = false;
};

// `items`: one item each, run as one batch; `more`: faults beside the catalogue's, of how the items
// became pixels.
Selftest run_selftest(const Checkpoint& checkpoint, const Placement& placement,
                      const std::vector<RawPatches>& items, std::vector<Fault> more,
                      const SelftestOptions& options);

}  // namespace vtower::explain
