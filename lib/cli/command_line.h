// The command line of `vtower`: declared once, parsed by the program that answers --help and usage
// errors, and again by the one that runs the verb.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/bench.h"
#include "cli/check.h"
#include "cli/diff.h"
#include "cli/encode.h"
#include "cli/exit_code.h"
#include "cli/inspect.h"
#include "cli/preprocess.h"
#include "cli/selftest.h"
#include "cli/synth.h"
#include "cli/terminal.h"

namespace vtower::cli {

class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Prints help, version or a usage error and returns the exit code where one of them ends the run.
  std::optional<ExitCode> parse(int argc, char** argv);

  // After a parse that did not end the run.
  [[nodiscard]] const std::string& verb() const noexcept { return verb_; }
  [[nodiscard]] const Terminal& terminal() const noexcept { return terminal_; }

  EncodeCommand encode;
  CheckCommand check;
  DiffCommand diff;
  SelftestCommand selftest;
  PreprocessCommand preprocess;
  InspectCommand inspect;
  SynthCommand synth;
  BenchCommand bench;

 private:
  template <typename Command>
  void add(const std::string& name, const std::string& description, Command& command);

  CLI::App app_;
  Terminal terminal_;
  std::string verb_;
};

}  // namespace vtower::cli
