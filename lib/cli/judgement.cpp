#include "cli/judgement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "check/place.h"
#include "cli/progress_line.h"
#include "cli/wrong_stage.h"

namespace vtower::cli {
namespace {

explain::ItemRows rows_of(const JudgedRun& run, std::size_t item) {
  const auto place = run.place[item];
  if (!place) return {};
  const DumpItem& found = run.dump->items()[*place];
  explain::ItemRows rows{found.embeddings};
  rows.insert(rows.end(), found.deepstack.begin(), found.deepstack.end());
  return rows;
}

bool same_placement(const Placement& a, const Placement& b) {
  return a.dtype == b.dtype && a.device == b.device;
}

// The judged items that shared a call with `item`, in the order of the call.
struct SharedCall {
  std::vector<std::size_t> items;
  bool known = false;  // otherwise the whole dump is taken for one call
};

SharedCall call_of(const JudgedRun& run, std::size_t item) {
  const auto judged_at = [&](std::size_t place) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < run.place.size(); ++i) {
      if (run.place[i] == place) return i;
    }
    return std::nullopt;
  };
  SharedCall call;
  const auto& record = run.dump->record();
  // A plan counts the inputs of the request: they are the dump's items where none has failed.
  if (run.ours && record.is_object() && record.contains("plan") &&
      record.value("failed", nlohmann::ordered_json::array()).empty()) {
    for (const auto& batch : record["plan"]["batches"]) {
      const auto places = batch.get<std::vector<std::size_t>>();
      if (std::find(places.begin(), places.end(), run.place[item]) == places.end()) continue;
      call.known = true;
      for (const std::size_t place : places) {
        if (const auto judged = judged_at(place)) call.items.push_back(*judged);
      }
      call.known = call.items.size() == places.size();
    }
    if (call.known) return call;
    call.items.clear();
  }
  for (std::size_t place = 0; place < run.dump->items().size(); ++place) {
    if (const auto judged = judged_at(place)) call.items.push_back(*judged);
  }
  call.known = call.items.size() == run.dump->items().size();
  return call;
}

constexpr std::int64_t most_batch_rows = 32768;  // of a call that is run again as a whole

// The search for the cause of one run's difference.
explain::Explanation explained(const JudgementInput& input, const JudgedRun& run,
                               const std::vector<std::size_t>& failing,
                               const JudgeArguments& arguments, const Terminal& terminal) {
  const SharedCall call = call_of(run, failing.front());
  std::vector<RawPatches> pixels;
  std::vector<std::size_t> items;
  explain::Evidence evidence;
  evidence.whole_batch = call.known;
  std::int64_t rows = 0;
  for (const std::size_t item : call.items) {
    pixels.push_back(input.items.load(item));
    rows += pixels.back().rows();
    items.push_back(item);
    if (rows <= most_batch_rows) continue;
    // Too much to run as a whole: the failing ones alone.
    evidence.whole_batch = false;
    pixels.clear();
    items.clear();
    for (std::size_t i = 0; i < std::min<std::size_t>(failing.size(), 2); ++i) {
      pixels.push_back(input.items.load(failing[i]));
      items.push_back(failing[i]);
    }
    break;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    evidence.items.push_back(&pixels[i]);
    evidence.rows.push_back(rows_of(run, items[i]));
  }
  for (const JudgedRun& hypothesis : input.hypotheses) {
    std::vector<explain::ItemRows> rows_of_run;
    for (const std::size_t item : items) rows_of_run.push_back(rows_of(hypothesis, item));
    evidence.hypotheses.emplace_back(hypothesis.name, std::move(rows_of_run));
  }
  for (const std::size_t item : failing) {
    const auto found = std::find(items.begin(), items.end(), item);
    if (found != items.end()) {
      evidence.failing.push_back(static_cast<std::size_t>(found - items.begin()));
    }
  }
  evidence.media_faults = [&](const std::vector<std::size_t>& few) {
    std::vector<std::optional<explain::MediaSource>> sources;
    for (const std::size_t item : few) {
      sources.push_back(input.media ? input.media(items[item]) : std::nullopt);
    }
    return explain::media_faults(sources);
  };
  ProgressLine progress(terminal, "faults tried on " + run.name);
  explain::ExplainOptions options;
  options.k = arguments.resolved().k;
  options.threads = input.threads;
  options.most_seconds = arguments.explain_seconds;
  options.most_batch_rows = most_batch_rows;
  options.on_progress = [&](std::size_t done, std::size_t of) { progress.update(done, of); };
  return explain::Explainer(input.checkpoint, run.placement, options).explain(evidence);
}

Cause cause_of(const explain::Explanation& explanation, const std::string& side) {
  const explain::Candidate& best = explanation.fits.front();
  Cause cause;
  cause.id = best.id;
  cause.variant = best.variant;
  for (std::size_t i = 1; i < explanation.fits.size(); ++i) {
    cause.also.push_back(explanation.fits[i].id);
  }
  cause.sentence = best.sentence;
  cause.side = side;
  cause.residual = best.residual;
  cause.limit = best.limit;
  if (explanation.runner_up) {
    cause.runner_up = RunnerUp{explanation.runner_up->id, explanation.runner_up->residual};
  }
  return cause;
}

std::string named(const std::optional<explain::Candidate>& candidate) {
  if (!candidate) return "none";
  return candidate->id + " (" + candidate->sentence + ")";
}

void explain_pairs(Report& report, const JudgementInput& input, const JudgeArguments& arguments,
                   const Terminal& terminal) {
  constexpr int most_searches = 4;
  int searches = 0;
  for (std::size_t r = 0; r < input.runs.size(); ++r) {
    const std::vector<std::size_t> failing =
        explain::failing_items(report.pairs[r], input.items.names);
    if (failing.empty()) continue;
    const JudgedRun& run = input.runs[r];
    if (++searches > most_searches) {
      report.notes.push_back(run.name + ": its cause was not looked for, four runs were");
      continue;
    }
    const explain::Explanation found = explained(input, run, failing, arguments, terminal);
    for (const std::string& name : found.not_tried) {
      report.notes.push_back(run.name + ": not tried as a cause: " + name);
    }
    if (found.fits.empty()) {
      report.notes.push_back(run.name + ": none of " + std::to_string(found.tried) +
                             " known faults explains it; the nearest is " + named(found.runner_up));
      const std::size_t worst = failing.front();
      if (const auto stage =
              wrong_stage(input.checkpoint, run.placement, *run.dump, *run.place[worst],
                          input.items.load(worst), arguments.resolved().k, input.threads)) {
        report.first_wrong_stage = *stage;
        report.notes.push_back(run.name + ": " + *stage +
                               " is the first stage beyond what rounding can make");
      }
    } else if (!report.cause) {
      report.cause = cause_of(found, run.name);
    } else if (report.cause->id == found.fits.front().id) {
      report.cause->side += "; " + run.name;
    } else {
      report.notes.push_back(run.name + ": another cause, " + named(found.fits.front()));
    }
  }
}

// SHA-256 of the files behind the items, as far as records have it.
void add_input_hashes(Report& report, const JudgementInput& input) {
  for (std::size_t r = 0; r < input.runs.size(); ++r) {
    const JudgedRun& run = input.runs[r];
    for (ItemReport& item : report.pairs[r].items) {
      const auto name = std::find(input.items.names.begin(), input.items.names.end(), item.item);
      const auto place = run.place[static_cast<std::size_t>(name - input.items.names.begin())];
      if (place) item.input_sha256 = run.dump->items()[*place].input_sha256;
    }
  }
}

PlaceLayout place_layout(const Checkpoint& checkpoint) {
  const VisionConfig& config = checkpoint.vision();
  PlaceLayout layout{config.layout, std::nullopt};
  if (config.window_size > 0) layout.window_tokens = config.window_tokens();
  return layout;
}

// Which rank ran an item, where a run of several ranks says so.
std::vector<std::pair<std::string, std::int64_t>> ranks_of(const JudgementInput& input) {
  std::vector<std::pair<std::string, std::int64_t>> ranks;
  for (const JudgedRun& run : input.runs) {
    const auto& record = run.dump->record();
    if (!record.is_object() || !record.contains("attestation") ||
        record["attestation"].value("world_size", 1) < 2) {
      continue;
    }
    for (std::size_t i = 0; i < run.place.size(); ++i) {
      if (!run.place[i]) continue;
      ranks.emplace_back(input.items.names[i],
                         record["items"][*run.place[i]].value("rank", std::int64_t{0}));
    }
    break;
  }
  return ranks;
}

// Same bytes as the first run of the same placement; asked for with --exact.
void compare_bytes(Report& report, const JudgementInput& input, const Policy& policy) {
  for (std::size_t r = 1; r < input.runs.size(); ++r) {
    std::size_t first = 0;
    while (!same_placement(input.runs[first].placement, input.runs[r].placement)) ++first;
    if (first == r) continue;
    PairReport& pair = report.pairs[r];
    bool same = true;
    for (std::size_t i = 0; i < input.items.names.size(); ++i) {
      const explain::ItemRows a = rows_of(input.runs[first], i);
      const explain::ItemRows b = rows_of(input.runs[r], i);
      same = same && a.size() == b.size();
      for (std::size_t t = 0; same && t < a.size(); ++t) {
        same = a[t].rows == b[t].rows && a[t].width == b[t].width &&
               compare_items(a[t], b[t], Scale::smaller, input.threads).identical;
      }
    }
    pair.identical = same;
    pair.notes.push_back((same ? "the bytes of " : "not the bytes of ") + input.runs[first].name);
    pair.must_be_identical = policy.exact;
    if (policy.exact && !same) pair.verdict = Verdict::differ;
  }
}

}  // namespace

Report judged(const JudgementInput& input, const JudgeArguments& arguments,
              const Terminal& terminal) {
  const Policy policy = arguments.resolved();
  std::vector<Placement> placements;
  std::vector<explain::Side> sides;
  for (const JudgedRun& run : input.runs) {
    const auto known = std::find_if(
        placements.begin(), placements.end(),
        [&](const Placement& placement) { return same_placement(placement, run.placement); });
    const auto index = static_cast<std::size_t>(known - placements.begin());
    if (known == placements.end()) placements.push_back(run.placement);
    sides.push_back({run.name, index, [&run](std::size_t item) { return rows_of(run, item); }});
  }
  Report report;
  report.policy = policy.to_json();
  {
    const explain::Yardstick yardstick(input.checkpoint, placements);
    ProgressLine progress(terminal, "items judged");
    report.pairs = explain::judge(yardstick, input.items, sides,
                                  {policy, input.threads, [&](std::size_t done, std::size_t of) {
                                     progress.update(done, of);
                                   }});
  }
  add_input_hashes(report, input);
  compare_bytes(report, input, policy);
  report.worst = worst_of(report.pairs, place_layout(input.checkpoint), ranks_of(input));
  if (arguments.explain) explain_pairs(report, input, arguments, terminal);
  return report;
}

}  // namespace vtower::cli
