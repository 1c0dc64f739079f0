#include "cli/check.h"

#include <stdlib.h>

#include <algorithm>
#include <set>

#include "cli/check_runs.h"
#include "cli/file_source.h"
#include "cli/judgement.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

namespace fs = std::filesystem;

// Where the runs leave their dumps: the user's folder, or one that is gone afterwards.
class RunFolder {
 public:
  explicit RunFolder(const std::string& keep) : path_(keep), kept_(!keep.empty()) {
    if (kept_) {
      fs::create_directories(path_);
      return;
    }
    std::string name = (fs::temp_directory_path() / "vtower-check-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorKind::unreadable, "check", name + ": no folder for the runs can be made");
    }
    path_ = name;
  }
  ~RunFolder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
  bool kept_;
};

// The items that can be read, under names of their own.
struct Inputs {
  std::vector<std::string> names;
  std::vector<std::size_t> places;  // in the source
};

Inputs readable_items(const FileSource& source) {
  Inputs inputs;
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (std::holds_alternative<ItemFailure>(source.header(i))) continue;
    std::string name = source.path(i).string();
    const int before = seen[name]++;
    if (before > 0) name += " #" + std::to_string(before);
    inputs.names.push_back(std::move(name));
    inputs.places.push_back(i);
  }
  return inputs;
}

RawPatches patches_of(const FileSource& source, std::size_t place) {
  auto loaded = source.load(place);
  if (auto* failure = std::get_if<ItemFailure>(&loaded)) {
    throw Error(failure->kind, "check", failure->path + ": " + failure->message);
  }
  return std::move(std::get<LoadedItem>(loaded).patches);
}

// Places of the items in a dump of ours: by the record's paths, the k-th of a path for the k-th.
std::vector<std::optional<std::size_t>> places_in(const Dump& dump, const FileSource& source,
                                                  const Inputs& inputs) {
  std::vector<bool> taken(dump.items().size(), false);
  std::vector<std::optional<std::size_t>> places;
  for (const std::size_t input : inputs.places) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < dump.items().size() && !found; ++i) {
      if (!taken[i] && dump.items()[i].path == source.path(input).string()) found = i;
    }
    if (found) taken[*found] = true;
    places.push_back(found);
  }
  return places;
}

// What one ledger says beside numbers of passes: stages and their types.
nlohmann::ordered_json stages_of_ledger(const nlohmann::ordered_json& ledger) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  if (!ledger.is_object() || !ledger.contains("stages")) return stages;
  for (const auto& entry : ledger["stages"]) {
    stages.push_back({{"stage", entry["stage"]}, {"width", entry["shape"][1]}});
  }
  return stages;
}

// Ledgers of all runs side by side; a run with other stages than the first is noted.
void compare_ledgers(Report& report, const std::vector<JudgedRun>& runs) {
  report.ledger = nlohmann::ordered_json::object();
  report.attestation = nlohmann::ordered_json::object();
  const nlohmann::ordered_json* first = nullptr;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto& record = runs[r].dump->record();
    if (!record.is_object()) continue;
    if (record.contains("attestation")) report.attestation[runs[r].name] = record["attestation"];
    if (!record.contains("ledger")) continue;
    report.ledger[runs[r].name] = record["ledger"];
    if (first == nullptr) {
      first = &record["ledger"];
    } else if (stages_of_ledger(*first) != stages_of_ledger(record["ledger"])) {
      report.pairs[r].notes.push_back("its ledger has other stages than that of " + runs[0].name);
      report.pairs[r].verdict = Verdict::differ;
    }
  }
}

std::vector<std::string> default_modes(const RunArguments& run) {
  return device_of(run.device).is_cuda() ? std::vector<std::string>{"eager", "graph"}
                                         : std::vector<std::string>{"eager", "graph-plan"};
}

}  // namespace

ExitCode CheckCommand::operator()(const Terminal& terminal) const {
  const Policy policy = judge.resolved();
  const std::vector<ModeSpec> specs =
      parse_modes(modes.empty() ? default_modes(run) : modes, run.device, run.dtype);
  const Checkpoint checkpoint = Checkpoint::open(run.checkpoint);
  const int threads = run.apply_threads();
  const PixelSpec spec = media.apply_to(checkpoint.preprocessor().pixels);
  const FileSource source(media.paths(), spec, media.options, threads);
  const RunFolder folder(keep);

  // Runs first.
  std::vector<FinishedRun> finished;
  for (const ModeSpec& mode : specs) {
    for (FinishedRun& one : run_mode(*this, mode, folder.path(), terminal)) {
      finished.push_back(std::move(one));
    }
  }

  // Then comparing.
  const Inputs inputs = readable_items(source);
  JudgementInput input{checkpoint,
                       {inputs.names,
                        [&](std::size_t i) { return patches_of(source, inputs.places[i]); }},
                       {},
                       threads};
  Report report;
  std::vector<ExitCode> codes;
  std::map<std::string, std::size_t> failures;  // runs in which an item failed, by path and reason
  std::size_t ran = 0;
  for (const FinishedRun& one : finished) {
    if (one.trouble) {
      report.not_run.push_back(one.name + ": " + one.trouble->second);
      codes.push_back(one.trouble->first == ErrorKind::mode_unavailable
                          ? ExitCode::mode_unavailable
                          : exit_code_of(one.trouble->first));
      continue;
    }
    ++ran;
    std::set<std::string> once;
    for (const ItemFailure& failure : one.failed) {
      if (once.insert(failure.path).second) ++failures[failure.path];
    }
    if (one.dump.empty()) continue;
    auto dump = std::make_shared<const Dump>(Dump::open(one.dump, {}));
    auto places = places_in(*dump, source, inputs);
    input.runs.push_back({one.name, std::move(dump), one.placement, std::move(places), true});
  }
  if (!against.empty()) input.runs.push_back(golden_run(*this, checkpoint, source, input));
  const std::vector<std::string> not_run = std::move(report.not_run);
  report = judged(input, judge, terminal);
  report.command = "check";
  report.not_run = not_run;
  compare_ledgers(report, input.runs);
  (void)policy;
  return finish(std::move(report), std::move(codes), judge, terminal);
}

}  // namespace vtower::cli
