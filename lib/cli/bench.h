// vtower bench: how fast the axes of a run are, each beside the ceiling of the same run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct BenchCommand {
  std::string checkpoint;  // empty: random weights of `shape`
  std::string shape = "qwen2-vl-2b";
  std::vector<std::string> inputs;  // pictures to preprocess; empty: a made one
  std::vector<std::string> axes{"preprocess", "packing", "tower"};
  std::vector<std::string> dtypes{"fp32", "bf16"};
  std::vector<std::int64_t> sides{448, 1036};
  std::int64_t blocks = 0;  // 0: all of the shape
  std::string device = "cpu";
  int threads = 0;
  int repeats = 3;

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
