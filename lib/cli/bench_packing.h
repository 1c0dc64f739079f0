// The packing axis of `bench`.
#pragma once

#include "cli/record.h"

namespace vtower::cli {

// How much of what padded batches compute is of use: 512 pictures with sides log-uniform from 224
// to 1500 pixels, packed and one by one, with our plan and ladder and with the reference's budgets
// and rule. Counts rows, runs nothing.
Json bench_packing();

}  // namespace vtower::cli
