// The preprocess axis of `bench`.
#pragma once

#include <cstdint>

#include "cli/record.h"

namespace vtower::cli {

// Times a 1024 x 1024 JPEG of quality 90, from its bytes in the page cache to patch rows of
// 1036 x 1036 (one thread), beside the bare libjpeg-turbo decode of the same file.
Json bench_preprocess(int repeats);

}  // namespace vtower::cli
