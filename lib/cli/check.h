// vtower check: run several modes from one plan, compare them with the oracle, name what is wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/dp_arguments.h"
#include "cli/exit_code.h"
#include "cli/judge_arguments.h"
#include "cli/media_arguments.h"
#include "cli/run_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct CheckCommand {
  RunArguments run;
  DpArguments dp;
  MediaArguments media;
  JudgeArguments judge;
  std::vector<std::string> modes;
  std::string against;               // a dump made earlier
  std::string keep;                  // folder for the dumps of all runs; empty: they are removed
  const CLI::App* parsed = nullptr;  // what was given, for the processes of dp

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
