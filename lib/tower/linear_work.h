// The arithmetic of a tower's products.
#pragma once

#include "checkpoint/vision_config.h"

namespace vtower {

// Floating-point operations that all linear layers take for one patch, a multiplication and an
// addition counted as two; attention is not in it.
double linear_work_per_row(const VisionConfig& config);

}  // namespace vtower
