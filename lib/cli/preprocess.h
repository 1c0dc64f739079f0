// vtower preprocess: media to raw uint8 patch rows, to compare pixels with other stacks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/exit_code.h"
#include "cli/media_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct PreprocessCommand {
  MediaArguments media;
  std::string checkpoint;
  std::string output;
  int threads = 0;

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
