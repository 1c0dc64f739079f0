// One of check's modes: MODE, MODE@DEVICE, MODE:DTYPE or MODE@DEVICE:DTYPE.
#pragma once

#include <string>
#include <vector>

#include "cli/run_arguments.h"

namespace vtower::cli {

struct ModeSpec {
  std::string name;  // as it was given
  Mode mode = Mode::eager;
  std::string device;  // as --device
  std::string dtype;   // as --dtype
};

// `device` and `dtype` hold where a part does not say otherwise. Throws Error{usage} for unknown
// words, modes given twice, and `oracle`, which all others are compared with in any case.
std::vector<ModeSpec> parse_modes(const std::vector<std::string>& parts, const std::string& device,
                                  const std::string& dtype);

}  // namespace vtower::cli
