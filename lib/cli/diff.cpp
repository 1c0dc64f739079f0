#include "cli/diff.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "check/record_differences.h"
#include "cli/diff_pixels.h"
#include "cli/html_sources.h"
#include "cli/judgement.h"
#include "cli/plain_diff.h"
#include "cli/report_output.h"
#include "cli/run_arguments.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

DumpOptions dump_options(const DiffCommand& command, const std::optional<Checkpoint>& checkpoint) {
  DumpOptions options;
  options.map = command.map;
  options.stage = command.stage;
  if (checkpoint) {
    options.merge_size = checkpoint->vision().layout.merge_size;
    options.out_width = checkpoint->vision().out_width;
    options.deepstack_levels =
        static_cast<std::int64_t>(checkpoint->vision().deepstack_blocks.size());
  }
  return options;
}

// Where each pixel item is in a dump: by key of the map, else by place.
std::vector<std::optional<std::size_t>> places_in(const Dump& dump,
                                                  const std::vector<PixelItem>& pixels) {
  std::vector<std::optional<std::size_t>> places;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    std::optional<std::size_t> place;
    if (!pixels[i].key) {
      if (i < dump.items().size()) place = i;
    } else {
      for (std::size_t k = 0; k < dump.items().size() && !place; ++k) {
        if (dump.items()[k].key == *pixels[i].key) place = k;
      }
    }
    places.push_back(place);
  }
  return places;
}

void require_same_count(const Dump& dump, const DiffPixels& pixels) {
  if (pixels.items.front().key || dump.items().size() == pixels.items.size()) return;
  throw Error(ErrorKind::not_comparable, "diff",
              dump.path().string() + " has " + std::to_string(dump.items().size()) +
                  " items, --pixels " + std::to_string(pixels.items.size()) +
                  "; give a JSON map from item to file, or pixels of the same items in the same "
                  "order");
}

JudgedRun run_of(const std::shared_ptr<const Dump>& dump, const DiffPixels& pixels,
                 c10::Device device) {
  require_same_count(*dump, pixels);
  const DType dtype = run_dtype(dump->record()).value_or(dump->dtype());
  const bool runs = dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
  return {dump->path().string(),
          dump,
          {runs ? dtype : DType::f32, device},
          places_in(*dump, pixels.items),
          dump->record().is_object()};
}

// Of both files against each other only what has no pixels to judge it by stays a pair.
void keep_unjudged(Report& report, PairReport pair, const std::vector<JudgedRun>& runs) {
  const JudgedRun& a = runs.front();
  const auto judged = [&](const std::string& key) {
    return std::any_of(a.place.begin(), a.place.end(), [&](const auto& place) {
      return place && a.dump->items()[*place].key == key;
    });
  };
  std::erase_if(pair.items, [&](const ItemReport& item) { return judged(item.item); });
  if (!pair.items.empty() || !pair.skipped.empty()) {
    pair.verdict = verdict_of(pair);
    report.pairs.push_back(std::move(pair));
    return;
  }
  report.notes.insert(report.notes.begin(), pair.notes.begin(), pair.notes.end());
}

}  // namespace

ExitCode DiffCommand::operator()(const Terminal& terminal) const {
  const Policy policy = judge.resolved();
  const int thread_number = thread_count(threads);
  at::set_num_threads(thread_number);
  std::optional<Checkpoint> opened;
  if (!checkpoint.empty()) opened = Checkpoint::open(checkpoint);
  if (opened && pixels.empty()) {
    throw Error(ErrorKind::usage, "diff",
                "--checkpoint without --pixels: the cause of a difference is found by running the "
                "tower on what went in");
  }
  const DumpOptions options = dump_options(*this, opened);
  const OpenedDumps dumps = open_dumps(a, b, options);
  Report report = plain_diff(dumps, policy, thread_number);
  std::optional<DiffPixels> went_in;
  std::optional<JudgementInput> input;
  if (opened && report.pairs.front().verdict != Verdict::vacuous) {
    PairReport unjudged = std::move(report.pairs.front());
    const std::vector<std::string> algebra = std::move(report.algebra);
    went_in = read_diff_pixels(pixels, *opened);
    input.emplace(JudgementInput{*opened, {}, {}, {}, thread_number});
    for (const PixelItem& item : went_in->items) input->items.names.push_back(item.name);
    input->items.load = [&](std::size_t i) { return went_in->items[i].load(); };
    input->media = [&](std::size_t i) { return went_in->items[i].media; };
    const c10::Device on = device_of(device);
    for (const auto& [name, path] : judge.named_dumps()) {
      const auto dump = std::make_shared<const Dump>(Dump::open(path, options));
      input->hypotheses.push_back(run_of(dump, *went_in, on));
      input->hypotheses.back().name = name;
    }
    input->runs = {run_of(dumps.a, *went_in, on), run_of(dumps.b, *went_in, on)};
    report = judged(*input, judge, terminal);
    report.command = "diff";
    report.algebra = algebra;
    report.notes.insert(report.notes.end(), went_in->notes.begin(), went_in->notes.end());
    keep_unjudged(report, std::move(unjudged), input->runs);
  }
  conclude(report, {});
  if (!judge.html.empty() && input) {
    write_html(judge.html, report, *input, policy.k, terminal);
  } else if (!judge.html.empty()) {
    write_html(judge.html, report, *dumps.a, *dumps.b, options.merge_size);
  }
  return show(report, judge, terminal);
}

}  // namespace vtower::cli
