#include "cli/vtower_diff_main.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <new>
#include <thread>

#include "cli/dump_record.h"
#include "cli/plain_diff.h"
#include "cli/report_output.h"
#include "cli/version.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

struct Arguments {
  std::string a;
  std::string b;
  DumpOptions dump;
  int threads = 0;
  JudgeArguments judge;
  std::vector<std::string> inspected;
};

ExitCode inspect(const Arguments& arguments, const Terminal& terminal) {
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const std::string& path : arguments.inspected) {
    const Dump dump = Dump::open(path, arguments.dump);
    terminal.say("dump " + path + ": " + dump.stage() + " in " +
                 std::string(to_string(dump.dtype())));
    nlohmann::ordered_json items = nlohmann::ordered_json::array();
    for (const DumpItem& item : dump.items()) {
      const std::vector<std::int64_t> shape{item.embeddings.rows, item.embeddings.width};
      terminal.say("  " + item.key + "  " + shape_text(shape) +
                   (item.deepstack.empty()
                        ? ""
                        : " and " + std::to_string(item.deepstack.size()) + " deepstack levels"));
      items.push_back({{"item", item.key}, {"shape", shape}, {"levels", item.deepstack.size()}});
    }
    for (const std::string& note : dump.notes()) terminal.say("  " + note);
    print_record(dump.record(), terminal);
    found.push_back({{"path", path},
                     {"stage", dump.stage()},
                     {"dtype", to_string(dump.dtype())},
                     {"items", std::move(items)},
                     {"notes", dump.notes()},
                     {"vtower", dump.record()}});
  }
  terminal.report({{"found", std::move(found)}, {"exit_code", 0}});
  return ExitCode::ok;
}

ExitCode diff(const Arguments& arguments, const Terminal& terminal) {
  const int threads = arguments.threads > 0
                          ? arguments.threads
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const OpenedDumps dumps = open_dumps(arguments.a, arguments.b, arguments.dump);
  Report report = plain_diff(dumps, arguments.judge.resolved(), threads);
  conclude(report, {});
  return show(report, arguments.judge, terminal);
}

void add_dump_options(CLI::App& app, DumpOptions& options) {
  app.add_option("--map", options.map,
                 "tensor to take [embeddings, merger, pooler_output, image_embeds]")
      ->option_text("NAME");
  app.add_option("--stage", options.stage, "what foreign tensors are [final embeddings]")
      ->option_text("NAME");
}

int stopped(const Terminal& terminal, ErrorKind kind, const std::string& message) {
  terminal.complain(message);
  const int code = static_cast<int>(exit_code_of(kind));
  terminal.report(
      {{"error", {{"class", to_string(kind)}, {"message", message}}}, {"exit_code", code}});
  return code;
}

}  // namespace

int vtower_diff_main(int argc, char** argv) {
  Terminal terminal{std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1};
  Arguments arguments;
  CLI::App app("Compares two dumps of embeddings, token by token: vtower diff without the tower.",
               "vtower-diff");
  app.set_version_flag("--version", std::string("vtower-diff ") + version);
  app.require_subcommand(1);
  const auto add_common = [&](CLI::App& verb) {
    verb.add_flag_callback(
        "--json", [&] { terminal.format = ReportFormat::json; }, "the report as JSON");
    verb.add_flag("--quiet", terminal.quiet, "failures only");
    add_dump_options(verb, arguments.dump);
  };
  CLI::App* differ = app.add_subcommand("diff", "compare two dumps");
  differ
      ->add_option("A", arguments.a,
                   ".safetensors, .npy, .npz, or a folder of an encoder-cache connector")
      ->required();
  differ->add_option("B", arguments.b, "the other side; their order does not matter")->required();
  differ->add_option("--threads", arguments.threads, "threads [all cores]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
  arguments.judge.add_limits_to(*differ);
  add_common(*differ);
  CLI::App* inspector = app.add_subcommand("inspect", "what a dump is");
  inspector->add_option("DUMP", arguments.inspected, "dumps")->required();
  add_common(*inspector);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, std::cout, std::cerr);
    return code == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  try {
    return static_cast<int>(differ->parsed() ? diff(arguments, terminal)
                                             : inspect(arguments, terminal));
  } catch (const Error& error) {
    return stopped(terminal, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return stopped(terminal, ErrorKind::memory, "[vtower-diff] out of memory");
  } catch (const std::exception& error) {
    return stopped(terminal, ErrorKind::unreadable, std::string("[vtower-diff] ") + error.what());
  }
}

}  // namespace vtower::cli
