// What a failure inside of LibTorch means to a run.
#pragma once

#include <c10/util/Exception.h>

#include "core/error.h"

namespace vtower {

// memory where an allocation failed, which LibTorch reports as a plain error on a CPU; else device.
ErrorKind kind_of(const c10::Error& error);

}  // namespace vtower
