// This program run once more, as a process of its own.
#pragma once

#include <string>
#include <vector>

namespace vtower::cli {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal where it was killed
  std::string out;
  std::string err;  // its end, where it is long
};

// Waits for it; it dies with this process. Throws Error{mode_unavailable} when it cannot be
// started.
ProcessResult run_self(const std::vector<std::string>& arguments);

}  // namespace vtower::cli
