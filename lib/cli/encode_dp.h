// encode --mode dp: this process as one rank of a run.
#pragma once

#include "cli/encode.h"

namespace vtower::cli {

// Rank 0 starts the others where nobody has (--ranks), writes, reports and decides the exit code;
// the other ranks are silent and end with the same code. Throws on rank 0 alone. Afterwards the
// process must end without taking down what other threads may use.
ExitCode encode_dp(const EncodeCommand& command, const Terminal& terminal);

}  // namespace vtower::cli
