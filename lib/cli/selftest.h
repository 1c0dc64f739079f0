// vtower selftest: plant faults into the user's own run and show that the gate catches them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/exit_code.h"
#include "cli/judge_arguments.h"
#include "cli/media_arguments.h"
#include "cli/run_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct SelftestCommand {
  RunArguments run;
  MediaArguments media;
  std::string policy;
  std::int64_t most_rows = 4096;

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
