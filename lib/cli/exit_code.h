// What the program tells its caller: the only place that maps errors to numbers.
#pragma once

#include <vector>

#include "core/error.h"

namespace vtower::cli {

enum class ExitCode : int {
  ok = 0,      // agree, or done
  differ = 1,  // differ, cause unknown
  usage = 2,
  differ_named = 3,  // differ, cause named
  not_comparable = 4,
  bad_input = 5,
  bad_checkpoint = 6,
  mode_unavailable = 7,  // the asked-for mode did not run
  resources = 8,         // memory, device or peer
  vacuous = 9,           // nothing was compared
};

ExitCode exit_code_of(ErrorKind kind) noexcept;

// When several apply the first of 2, 6, 8, 7, 5, 3, 1, 4, 9, 0 counts.
ExitCode worst(const std::vector<ExitCode>& codes) noexcept;

}  // namespace vtower::cli
