// The runs of a check: each leaves a dump with its record.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/check.h"
#include "cli/mode_spec.h"
#include "core/item.h"
#include "tower/placement.h"

namespace vtower::cli {

struct FinishedRun {
  std::string name;            // "graph, n-th replay"
  std::filesystem::path dump;  // empty: nothing was written
  Placement placement;
  std::vector<ItemFailure> failed;
  std::optional<std::pair<ErrorKind, std::string>> trouble;  // why the mode did not run, or ended
};

// eager: packed, and each item alone. graph-plan and graph: a first pass, and another after batches
// of other sizes and boundaries went through the same buffers, all of it poisoned. dp: one run in
// processes of its own. `inputs`: the files that the command's arguments stand for. A mode that
// cannot run leaves its trouble; nothing is run in its place.
std::vector<FinishedRun> run_mode(const CheckCommand& command, const ModeSpec& spec,
                                  const std::vector<std::filesystem::path>& inputs,
                                  const std::filesystem::path& folder, const Terminal& terminal);

}  // namespace vtower::cli
