#include "cli/command_line.h"

#include <unistd.h>

#include <iostream>

#include "cli/choice.h"
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

}  // namespace

CommandLine::CommandLine()
    : app_(
          "Vision-tower embeddings of images and video, and whether every way of running the "
          "tower gives the same ones.",
          "vtower"),
      terminal_{std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1} {
  app_.footer(footer);
  app_.set_version_flag("--version", std::string("vtower ") + version);
  app_.require_subcommand(1);
  app_.get_formatter()->column_width(34);
  add("encode", "media or raw patches to embeddings", encode);
  add("preprocess", "media to raw uint8 patch rows", preprocess);
  add("check", "run several modes, compare them with an independent oracle, name the cause", check);
  add("diff", "compare two dumps, ours or others'", diff);
  add("selftest", "plant faults into your own run and see that the gate catches them", selftest);
  add("inspect", "what a checkpoint, dump, medium or pixel file is", inspect);
  add("synth", "a random-weight checkpoint of a published or tiny shape", synth);
  add("bench", "timed axes beside ceilings of the same run", bench);
}

template <typename Command>
void CommandLine::add(const std::string& name, const std::string& description, Command& command) {
  CLI::App* verb = app_.add_subcommand(name, description);
  command.add_to(*verb);
  verb->add_flag_callback(
          "--json", [this] { terminal_.format = ReportFormat::json; }, "the report as JSON")
      ->group("Output");
  verb->add_flag("--quiet", terminal_.quiet, "failures only")->group("Output");
  add_choice(*verb, "--progress", terminal_.progress, styles, "progress on standard error")
      ->group("Output");
  verb->footer(footer);
  verb->callback([this, name] { verb_ = name; });
}

std::optional<ExitCode> CommandLine::parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    // CLI11 reports help and version as errors with code 0.
    const int code = app_.exit(error, std::cout, std::cerr);
    return code == 0 ? ExitCode::ok : ExitCode::usage;
  }
}

}  // namespace vtower::cli
