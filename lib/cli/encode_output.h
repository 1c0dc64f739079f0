// What every way of encoding shares: the stages asked for, the file, the record and the report.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/vision_config.h"
#include "cli/encode.h"
#include "cli/record.h"
#include "engine/encode_items.h"

namespace vtower::cli {

// Checked against those that this tower has: Error{usage} names the stages there are.
std::set<std::string> stages_of(const VisionConfig& config, const std::vector<std::string>& asked);

struct EncodeOutput {
  std::vector<ItemResult> items;          // in request order
  std::vector<std::optional<int>> ranks;  // [item]; empty: all of rank 0
  std::int64_t merge_size = 0;
  Json checkpoint;
  Json norm;
  Json plan;
  Json attestation;
  Json ledger;
  std::vector<std::pair<ErrorKind, std::string>> trouble;  // that is no item's own
};

// Writes the file where any item was encoded, says what was done and what failed, and returns the
// exit code of all that happened.
ExitCode write_output(const EncodeCommand& command, const Terminal& terminal,
                      const EncodeOutput& run);

}  // namespace vtower::cli
