#include "cli/vtower_main.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <new>

#include "cli/bench.h"
#include "cli/choice.h"
#include "cli/encode.h"
#include "cli/inspect.h"
#include "cli/preprocess.h"
#include "cli/synth.h"
#include "cli/terminal.h"
#include "cli/version.h"

namespace vtower::cli {
namespace {

const char* const footer = R"(Exit codes:
  0 done, agree   1 differ   2 usage   3 differ, cause named   4 not comparable   5 bad input
  6 bad checkpoint   7 the asked-for mode did not run   8 out of memory, device or peer
  9 vacuous: nothing was compared)";

const Choices<ProgressStyle> styles{{"auto", ProgressStyle::automatic},
                                    {"bar", ProgressStyle::bar},
                                    {"plain", ProgressStyle::plain},
                                    {"none", ProgressStyle::none}};

class Program {
 public:
  Program()
      : app_(
            "Vision-tower embeddings of images and video, and whether every way of running "
            "the tower gives the same ones.",
            "vtower") {
    app_.footer(footer);
    app_.set_version_flag("--version", std::string("vtower ") + version);
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(34);
    add("encode", "media or raw patches to embeddings", encode_);
    add("preprocess", "media to raw uint8 patch rows", preprocess_);
    add("inspect", "what a checkpoint, dump, medium or pixel file is", inspect_);
    add("synth", "a random-weight checkpoint of a published or tiny shape", synth_);
    add("bench", "timed axes beside ceilings of the same run", bench_);
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // CLI11 reports help and version as errors with code 0.
      const int code = app_.exit(error, std::cout, std::cerr);
      return static_cast<int>(code == 0 ? ExitCode::ok : ExitCode::usage);
    }
    try {
      return static_cast<int>(verb_(terminal_));
    } catch (const Error& error) {
      return stop(error.kind(), error.what());
    } catch (const std::bad_alloc&) {
      return stop(ErrorKind::memory, "[vtower] out of memory");
    } catch (const std::exception& error) {
      return stop(ErrorKind::device, std::string("[vtower] ") + error.what());
    }
  }

 private:
  template <typename Command>
  void add(const std::string& name, const std::string& description, Command& command) {
    CLI::App* verb = app_.add_subcommand(name, description);
    command.add_to(*verb);
    verb->add_flag_callback(
            "--json", [this] { terminal_.format = ReportFormat::json; }, "the report as JSON")
        ->group("Output");
    verb->add_flag("--quiet", terminal_.quiet, "failures only")->group("Output");
    add_choice(*verb, "--progress", terminal_.progress, styles, "progress on standard error")
        ->group("Output");
    verb->footer(footer);
    verb->callback([this, &command] { verb_ = std::cref(command); });
  }

  int stop(ErrorKind kind, const std::string& message) {
    terminal_.complain(message);
    const int code = static_cast<int>(exit_code_of(kind));
    terminal_.report(
        {{"error", {{"class", to_string(kind)}, {"message", message}}}, {"exit_code", code}});
    return code;
  }

  CLI::App app_;
  Terminal terminal_{std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1};
  std::function<ExitCode(const Terminal&)> verb_;
  EncodeCommand encode_;
  PreprocessCommand preprocess_;
  InspectCommand inspect_;
  SynthCommand synth_;
  BenchCommand bench_;
};

}  // namespace

int vtower_main(int argc, char** argv) {
  return Program().run(argc, argv);
}

}  // namespace vtower::cli
