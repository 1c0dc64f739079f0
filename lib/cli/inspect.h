// vtower inspect: what a checkpoint, dump, medium or pixel file is, where every constant came
// from, and what would be done with it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/media_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct InspectCommand {
  MediaArguments media;  // its INPUT is the target
  std::string checkpoint;

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
