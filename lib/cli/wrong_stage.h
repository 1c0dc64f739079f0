// Where in the tower a run goes wrong, when no known fault explains it.
#pragma once

#include <optional>
#include <string>

#include "check/dump.h"
#include "checkpoint/checkpoint.h"
#include "core/raw_patches.h"
#include "tower/placement.h"

namespace vtower::cli {

// The first stage of one item that is beyond k times its floor: of the stages that its dump holds
// (--stages), or of our eager run where the dump is one of it. Empty where neither is there, or no
// stage is beyond.
std::optional<std::string> wrong_stage(const Checkpoint& checkpoint, const Placement& placement,
                                       const Dump& dump, std::size_t place, const RawPatches& item,
                                       double k, int threads);

}  // namespace vtower::cli
