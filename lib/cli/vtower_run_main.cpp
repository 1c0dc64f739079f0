#include <cstdlib>
#include <exception>
#include <iostream>

#include "cli/command_line.h"
#include "cli/stop.h"
#include "cli/vtower_main.h"

namespace vtower::cli {
namespace {

ExitCode run_verb(const CommandLine& line) {
  const Terminal& terminal = line.terminal();
  if (line.verb() == "encode") return line.encode(terminal);
  if (line.verb() == "preprocess") return line.preprocess(terminal);
  if (line.verb() == "check") return line.check(terminal);
  if (line.verb() == "diff") return line.diff(terminal);
  if (line.verb() == "selftest") return line.selftest(terminal);
  if (line.verb() == "inspect") return line.inspect(terminal);
  if (line.verb() == "synth") return line.synth(terminal);
  return line.bench(terminal);
}

int code_of(const CommandLine& line) {
  try {
    return static_cast<int>(run_verb(line));
  } catch (...) {
    return report_stop(line.terminal(), current_stop());
  }
}

}  // namespace

int vtower_run_main(int argc, char** argv) {
  CommandLine line;
  if (const auto ended = line.parse(argc, argv)) return static_cast<int>(*ended);
  const int code = code_of(line);
  if (line.verb() != "encode" || line.encode.run.mode != Mode::dp) return code;
  // A rank may leave a thread behind that waits for a file, a GPU or another host: nothing may be
  // taken down under it.
  std::cout.flush();
  std::cerr.flush();
  std::_Exit(code);
}

}  // namespace vtower::cli
