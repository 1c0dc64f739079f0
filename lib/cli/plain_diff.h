// Two dumps against each other, without a tower: what vtower-diff does, and where diff begins.
#pragma once

#include <memory>
#include <string>

#include "check/dump.h"
#include "check/policy.h"
#include "check/report.h"

namespace vtower::cli {

struct OpenedDumps {
  std::shared_ptr<const Dump> a;
  std::shared_ptr<const Dump> b;
};

// Throws Error as Dump::open() does.
OpenedDumps open_dumps(const std::string& a, const std::string& b, const DumpOptions& options);

// A report with one pair, within the policy's limits by element type, and what turns one side into
// the other where numbers alone show it. Not concluded.
Report plain_diff(const OpenedDumps& dumps, const Policy& policy, int threads);

}  // namespace vtower::cli
