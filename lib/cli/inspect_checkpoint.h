// The checkpoint side of `inspect`.
#pragma once

#include "checkpoint/checkpoint.h"
#include "cli/record.h"
#include "cli/terminal.h"

namespace vtower::cli {

// Prints what the checkpoint is, with the origin of every value; returns the same as JSON.
Json inspect_checkpoint(const Checkpoint& checkpoint, const Terminal& terminal);

}  // namespace vtower::cli
