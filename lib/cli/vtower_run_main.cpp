#include <c10/util/Exception.h>

#include <new>

#include "cli/command_line.h"
#include "cli/vtower_main.h"

namespace vtower::cli {
namespace {

ExitCode run_verb(const CommandLine& line) {
  const Terminal& terminal = line.terminal();
  if (line.verb() == "encode") return line.encode(terminal);
  if (line.verb() == "preprocess") return line.preprocess(terminal);
  if (line.verb() == "inspect") return line.inspect(terminal);
  if (line.verb() == "synth") return line.synth(terminal);
  return line.bench(terminal);
}

int stop(const Terminal& terminal, ErrorKind kind, const std::string& message) {
  terminal.complain(message);
  const int code = static_cast<int>(exit_code_of(kind));
  terminal.report(
      {{"error", {{"class", to_string(kind)}, {"message", message}}}, {"exit_code", code}});
  return code;
}

// LibTorch reports a failed allocation of a CPU as a plain error.
ErrorKind kind_of(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  const bool memory = text.find("not enough memory") != std::string::npos ||
                      text.find("out of memory") != std::string::npos ||
                      text.find("can't allocate memory") != std::string::npos;
  return memory ? ErrorKind::memory : ErrorKind::device;
}

}  // namespace

int vtower_run_main(int argc, char** argv) {
  CommandLine line;
  if (const auto ended = line.parse(argc, argv)) return static_cast<int>(*ended);
  const Terminal& terminal = line.terminal();
  try {
    return static_cast<int>(run_verb(line));
  } catch (const Error& error) {
    return stop(terminal, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return stop(terminal, ErrorKind::memory, "[vtower] out of memory");
  } catch (const c10::Error& error) {
    return stop(terminal, kind_of(error),
                std::string("[libtorch] ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return stop(terminal, ErrorKind::device, std::string("[vtower] ") + error.what());
  }
}

}  // namespace vtower::cli
