// vtower encode: media or raw patches to embeddings.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/dp_arguments.h"
#include "cli/exit_code.h"
#include "cli/media_arguments.h"
#include "cli/run_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct EncodeCommand {
  RunArguments run;
  DpArguments dp;
  MediaArguments media;
  std::string output;
  std::vector<std::string> stages;

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
