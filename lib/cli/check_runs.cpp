#include "cli/check_runs.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "cli/encode_output.h"
#include "cli/file_source.h"
#include "cli/mode_run.h"
#include "cli/process.h"
#include "cli/progress_line.h"
#include "cli/stop.h"

namespace vtower::cli {
namespace {

namespace fs = std::filesystem;

std::string file_name(std::string name) {
  for (char& letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-';
    if (!plain) letter = '_';
  }
  return name + ".safetensors";
}

// The same items, last first.
class ReversedSource final : public ItemSource {
 public:
  explicit ReversedSource(const ItemSource& source) : source_(source) {}
  [[nodiscard]] std::size_t size() const override { return source_.size(); }
  [[nodiscard]] std::variant<ItemHeader, ItemFailure> header(std::size_t i) const override {
    return source_.header(size() - 1 - i);
  }
  [[nodiscard]] std::variant<LoadedItem, ItemFailure> load(std::size_t i) const override {
    return source_.load(size() - 1 - i);
  }

 private:
  const ItemSource& source_;
};

std::vector<ItemFailure> failures_of(const std::vector<ItemResult>& items) {
  std::vector<ItemFailure> failed;
  for (const ItemResult& item : items) {
    if (const auto* failure = std::get_if<ItemFailure>(&item)) failed.push_back(*failure);
  }
  return failed;
}

// The passes of one mode in this process.
class ModePasses {
 public:
  ModePasses(const CheckCommand& command, const ModeSpec& spec, const std::vector<fs::path>& inputs,
             const fs::path& folder, const Terminal& terminal)
      : encode_{arguments(command, spec), {}, command.media, {}, {}},
        checkpoint_(Checkpoint::open(command.run.checkpoint)),
        threads_(command.run.apply_threads()),
        mode_(encode_.run, checkpoint_, threads_),
        pixels_(command.media.apply_to(checkpoint_.preprocessor().pixels)),
        source_(inputs, pixels_, command.media.options, threads_),
        folder_(folder),
        terminal_(terminal) {}

  std::vector<FinishedRun> run(const std::string& name) {
    std::vector<FinishedRun> runs;
    if (encode_.run.mode == Mode::eager) {
      runs.push_back(pass(name, mode_.max_batch_rows()));
      runs.push_back(pass(name + ", each item alone", 1));
    } else {
      const std::string what = encode_.run.mode == Mode::graph ? "replay" : "pass";
      runs.push_back(pass(name + ", first " + what, mode_.max_batch_rows()));
      unsettle();
      runs.push_back(pass(name + ", later " + what, mode_.max_batch_rows()));
    }
    return runs;
  }

 private:
  static RunArguments arguments(const CheckCommand& command, const ModeSpec& spec) {
    RunArguments run = command.run;
    run.mode = spec.mode;
    run.device = spec.device;
    run.dtype = spec.dtype;
    run.poison = spec.mode != Mode::eager;
    return run;
  }

  EncodeOptions options(std::int64_t max_batch_rows) const {
    EncodeOptions options;
    options.max_batch_rows = max_batch_rows;
    options.decode_threads = threads_;
    return options;
  }

  FinishedRun pass(const std::string& name, std::int64_t max_batch_rows) {
    ProgressLine progress(terminal_, "items, " + name);
    EncodeOptions options = this->options(max_batch_rows);
    options.on_progress = [&](const Progress& now) { progress.update(now.items_done, now.items); };
    EncodeResult result = encode_items(source_, mode_.runner(), options);
    FinishedRun finished{name, folder_ / file_name(name), encode_.run.placement(checkpoint_),
                         failures_of(result.items), std::nullopt};
    encode_.output = finished.dump.string();
    const Terminal silent{terminal_.out,      silence_, false,
                          ReportFormat::text, true,     ProgressStyle::none};
    (void)write_output(encode_, silent,
                       {std::move(result.items),
                        {},
                        pixels_.layout.merge_size,
                        checkpoint_json(checkpoint_),
                        norm_json(checkpoint_.preprocessor()),
                        plan_json(result.plan),
                        mode_.attestation(),
                        ledger_json(mode_.ledger()),
                        {}});
    if (!fs::exists(finished.dump)) finished.dump.clear();
    return finished;
  }

  // History that a later pass must not show: each item alone (small after large, other budgets),
  // then all in reverse (equal totals with other boundaries).
  void unsettle() {
    (void)encode_items(source_, mode_.runner(), options(1));
    (void)encode_items(ReversedSource(source_), mode_.runner(), options(mode_.max_batch_rows()));
  }

  EncodeCommand encode_;
  Checkpoint checkpoint_;
  int threads_;
  ModeRun mode_;
  PixelSpec pixels_;
  FileSource source_;
  fs::path folder_;
  const Terminal& terminal_;
  std::ofstream silence_;  // writes nowhere
};

// What was given to check and means the same to encode.
std::vector<std::string> shared_options(const CLI::App& given) {
  CLI::App encode_app;
  EncodeCommand encode;
  encode.add_to(encode_app);
  std::vector<std::string> arguments;
  for (const CLI::Option* option : given.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    const std::string name = option->get_name();
    if (name == "-0" || name == "--device" || name == "--dtype" || name == "--ranks") continue;
    if (encode_app.get_option_no_throw(name) == nullptr) continue;
    arguments.push_back(name);
    if (option->get_expected_max() == 0) continue;  // a flag
    std::string values;
    for (const std::string& value : option->results()) {
      values += (values.empty() ? "" : ",") + value;
    }
    arguments.push_back(values);
  }
  return arguments;
}

std::vector<FinishedRun> run_dp(const CheckCommand& command, const ModeSpec& spec,
                                const std::vector<fs::path>& inputs, const fs::path& folder) {
  const int ranks = command.dp.ranks.value_or(2);
  FinishedRun finished{spec.name + ", " + std::to_string(ranks) + " ranks",
                       folder / file_name(spec.name),
                       {},
                       {},
                       std::nullopt};
  const fs::path list = folder / (file_name(spec.name) + ".list");
  {
    std::ofstream out(list, std::ios::binary);
    for (const fs::path& path : inputs) out << path.string() << '\0';
  }
  std::vector<std::string> arguments{"encode",
                                     command.run.checkpoint,
                                     "@" + list.string(),
                                     "-0",
                                     "--mode",
                                     "dp",
                                     "--ranks",
                                     std::to_string(ranks),
                                     "--device",
                                     spec.device,
                                     "--dtype",
                                     spec.dtype,
                                     "-o",
                                     finished.dump.string(),
                                     "--json",
                                     "--progress",
                                     "none"};
  const std::vector<std::string> shared = shared_options(*command.parsed);
  arguments.insert(arguments.end(), shared.begin(), shared.end());
  const ProcessResult result = run_self(arguments);
  fs::remove(list);
  const Checkpoint checkpoint = Checkpoint::open(command.run.checkpoint);
  RunArguments run = command.run;
  run.device = spec.device;
  run.dtype = spec.dtype;
  finished.placement = run.placement(checkpoint);
  const Json report = Json::parse(result.out, nullptr, false);
  if (report.is_object() && report.contains("failed")) {
    for (const Json& failed : report["failed"]) {
      ItemFailure failure{failed.value("path", ""), ErrorKind::peer, failed.value("message", "")};
      for (int kind = 0; kind <= static_cast<int>(ErrorKind::peer); ++kind) {
        if (to_string(static_cast<ErrorKind>(kind)) == failed.value("class", "")) {
          failure.kind = static_cast<ErrorKind>(kind);
        }
      }
      finished.failed.push_back(std::move(failure));
    }
  }
  if (!fs::exists(finished.dump)) finished.dump.clear();
  if (result.exit_code != 0 && finished.failed.empty()) {
    finished.trouble = {result.exit_code == static_cast<int>(ExitCode::mode_unavailable)
                            ? ErrorKind::mode_unavailable
                            : ErrorKind::peer,
                        result.err.empty()
                            ? "ended with exit code " + std::to_string(result.exit_code)
                            : result.err};
  }
  return {std::move(finished)};
}

}  // namespace

std::vector<FinishedRun> run_mode(const CheckCommand& command, const ModeSpec& spec,
                                  const std::vector<fs::path>& inputs, const fs::path& folder,
                                  const Terminal& terminal) {
  try {
    if (spec.mode == Mode::dp) return run_dp(command, spec, inputs, folder);
    return ModePasses(command, spec, inputs, folder, terminal).run(spec.name);
  } catch (const std::exception&) {
    const Stop stop = current_stop();
    // What is wrong with the command line or the checkpoint is not the mode's.
    if (stop.kind == ErrorKind::usage || stop.kind == ErrorKind::checkpoint) throw;
    return {{spec.name, {}, {}, {}, std::pair{stop.kind, stop.message}}};
  }
}

}  // namespace vtower::cli
