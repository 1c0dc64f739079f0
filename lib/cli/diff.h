// vtower diff: two dumps, ours or others'; with tower and pixels it judges both and explains.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/exit_code.h"
#include "cli/judge_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

struct DiffCommand {
  std::string a;
  std::string b;
  std::string map;
  std::string stage;
  std::string checkpoint;
  std::string pixels;  // media, a dump of rows, or a JSON map from item to file
  std::string device = "cpu";
  int threads = 0;
  JudgeArguments judge;

  void add_to(CLI::App& app);
  ExitCode operator()(const Terminal& terminal) const;
};

}  // namespace vtower::cli
