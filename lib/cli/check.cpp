#include "cli/check.h"

#include <stdlib.h>

#include <map>
#include <set>

#include "check/record_differences.h"
#include "cli/check_runs.h"
#include "cli/file_source.h"
#include "cli/html_sources.h"
#include "cli/judgement.h"
#include "cli/report_output.h"
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

// The items that some run could read, under names of their own.
struct Inputs {
  std::vector<std::string> names;
  std::vector<std::size_t> places;  // in the source
};

Inputs inputs_of(const FileSource& source, const std::set<std::string>& unreadable) {
  Inputs inputs;
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::string name = source.path(i).string();
    if (unreadable.contains(name)) continue;
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
    if (record.contains("plan")) report.plan[runs[r].name] = record["plan"];
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

// Failures of items: those of every run are the item's own, others are differences between runs.
struct Failures {
  std::vector<ItemFailure> everywhere;
  std::map<std::string, std::vector<ItemFailure>> of_run;  // by the run's name
};

Failures sort_failures(const std::vector<FinishedRun>& runs) {
  std::map<std::string, std::size_t> counts;
  std::size_t ran = 0;
  for (const FinishedRun& run : runs) {
    if (run.trouble) continue;
    ++ran;
    std::set<std::string> paths;
    for (const ItemFailure& failure : run.failed) paths.insert(failure.path);
    for (const std::string& path : paths) ++counts[path];
  }
  Failures failures;
  std::set<std::string> told;
  for (const FinishedRun& run : runs) {
    if (run.trouble) continue;
    for (const ItemFailure& failure : run.failed) {
      if (counts[failure.path] < ran) {
        failures.of_run[run.name].push_back(failure);
      } else if (told.insert(failure.path).second) {
        failures.everywhere.push_back(failure);
      }
    }
  }
  return failures;
}

// An item that one run lost and another gave is a difference, not a gap.
void add_lost_items(Report& report, const Failures& failures) {
  for (PairReport& pair : report.pairs) {
    const auto lost = failures.of_run.find(pair.a);
    if (lost == failures.of_run.end()) continue;
    pair.verdict = Verdict::differ;
    for (const ItemFailure& failure : lost->second) {
      pair.notes.push_back(failure.path + " failed here and not in every run: " + failure.message);
    }
  }
}

// The dump of --against as one more run. Throws Error{not_comparable} where its numbers mean
// something else.
JudgedRun golden_run(const std::string& path, const Placement& fallback,
                     const std::vector<JudgedRun>& runs, const FileSource& source,
                     const Inputs& inputs) {
  auto dump = std::make_shared<const Dump>(Dump::open(path, {}));
  if (!dump->record().is_object()) {
    throw Error(ErrorKind::not_comparable, "check",
                "--against " + path +
                    ": no vtower record says what it was made from; compare foreign dumps with "
                    "vtower diff A B --checkpoint C --pixels P");
  }
  for (const JudgedRun& run : runs) {
    const RecordDifferences found = record_differences(dump->record(), run.dump->record());
    if (found.contradictions.empty()) continue;
    throw Error(ErrorKind::not_comparable, "check",
                "--against " + path + ": " + found.contradictions.front());
  }
  Placement placement{run_dtype(dump->record()).value_or(dump->dtype()), fallback.device};
  auto places = places_in(*dump, source, inputs);
  return {"golden " + path, std::move(dump), placement, std::move(places), true};
}

std::vector<std::string> default_modes(const RunArguments& run) {
  return device_of(run.device).is_cuda() ? std::vector<std::string>{"eager", "graph"}
                                         : std::vector<std::string>{"eager", "graph-plan"};
}

}  // namespace

ExitCode CheckCommand::operator()(const Terminal& terminal) const {
  (void)judge.resolved();  // said before anything runs
  const std::vector<ModeSpec> specs =
      parse_modes(modes.empty() ? default_modes(run) : modes, run.device, run.dtype);
  const Checkpoint checkpoint = Checkpoint::open(run.checkpoint);
  const int threads = run.apply_threads();
  const PixelSpec spec = media.apply_to(checkpoint.preprocessor().pixels);
  const std::vector<fs::path> files = media.paths();
  const FileSource source(files, spec, media.options, threads);
  const RunFolder folder(keep);

  // Runs first.
  std::vector<FinishedRun> finished;
  for (const ModeSpec& mode : specs) {
    for (FinishedRun& one : run_mode(*this, mode, files, folder.path(), terminal)) {
      finished.push_back(std::move(one));
    }
  }

  // Then comparing.
  const Failures failures = sort_failures(finished);
  std::set<std::string> unreadable;
  std::vector<ExitCode> codes;
  for (const ItemFailure& failure : failures.everywhere) {
    unreadable.insert(failure.path);
    codes.push_back(exit_code_of(failure.kind));
  }
  const Inputs inputs = inputs_of(source, unreadable);
  JudgementInput input{
      checkpoint,
      {inputs.names, [&](std::size_t i) { return patches_of(source, inputs.places[i]); }},
      [&](std::size_t i) { return source.media(inputs.places[i]); },
      {},
      threads};
  std::vector<std::string> not_run;
  for (const FinishedRun& one : finished) {
    if (one.trouble) {
      not_run.push_back(one.name + ": " + one.trouble->second);
      codes.push_back(exit_code_of(one.trouble->first));
    }
    if (one.dump.empty()) continue;
    auto dump = std::make_shared<const Dump>(Dump::open(one.dump, {}));
    auto places = places_in(*dump, source, inputs);
    input.runs.push_back({one.name, std::move(dump), one.placement, std::move(places), true});
  }
  if (!against.empty()) {
    input.runs.push_back(
        golden_run(against, run.placement(checkpoint), input.runs, source, inputs));
  }
  for (const auto& [name, path] : judge.named_dumps()) {
    auto dump = std::make_shared<const Dump>(Dump::open(path, {}));
    auto places = places_in(*dump, source, inputs);
    input.hypotheses.push_back({name, std::move(dump), {}, std::move(places), true});
  }
  Report report = judged(input, judge, terminal);
  report.command = "check";
  report.not_run = std::move(not_run);
  report.failed = to_json(failures.everywhere);
  add_lost_items(report, failures);
  compare_ledgers(report, input.runs);
  conclude(report, std::move(codes));
  if (!judge.html.empty()) write_html(judge.html, report, input, judge.resolved().k, terminal);
  return show(report, judge, terminal);
}

}  // namespace vtower::cli
