// vtower synth: a random-weight checkpoint of a published or tiny shape.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct SynthCommand {
  std::string shape;
  std::string folder;
  std::string dtype = "bf16";
  std::uint64_t seed = 0;
  std::int64_t blocks = 0;  // 0: all of the shape

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
