#include "cli/diff.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "check/algebra.h"
#include "check/diff_items.h"
#include "check/place.h"
#include "check/record_differences.h"
#include "cli/diff_pixels.h"
#include "cli/judgement.h"
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

// Items that only the comparison of both files can speak of: those without pixels.
void keep_unjudged(PairReport& pair, const std::vector<JudgedRun>& runs, const Dump& a) {
  const auto judged = [&](const std::string& key) {
    for (const auto& place : runs.front().place) {
      if (place && a.items()[*place].key == key) return true;
    }
    return false;
  };
  std::erase_if(pair.items, [&](const ItemReport& item) { return judged(item.item); });
  if (pair.verdict == Verdict::vacuous) return;
  const bool nothing = pair.items.empty() && pair.skipped.empty();
  pair.verdict = nothing ? Verdict::agree : verdict_of(pair);
}

// What turns A into B, of the items that are beyond the limit.
void add_algebra(Report& report, const Dump& a, const Dump& b, const Policy& policy, int threads) {
  const bool keys = a.has_keys() && b.has_keys();
  std::vector<AlgebraItem> items;
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    const DumpItem& left = a.items()[i];
    const DumpItem* right = keys                  ? b.find(left.key)
                            : i < b.items().size() ? &b.items()[i]
                                                   : nullptr;
    if (right == nullptr || right->embeddings.width != left.embeddings.width) continue;
    items.push_back({left.key, left.embeddings, right->embeddings});
  }
  const AlgebraOptions options{policy.limit(a.dtype(), b.dtype()), threads};
  for (const AlgebraFinding& finding : find_algebra(items, options)) {
    report.algebra.push_back(finding.sentence);
  }
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
  const auto first = std::make_shared<const Dump>(Dump::open(a, options));
  const auto second = std::make_shared<const Dump>(Dump::open(b, options));
  PairReport pair = to_report(diff_items(*first, *second, {policy, thread_number}), a, b);
  Report report;
  if (opened && pair.verdict != Verdict::vacuous) {
    const DiffPixels went_in = read_diff_pixels(pixels, *opened);
    JudgementInput input{*opened, {}, {}, thread_number};
    for (const PixelItem& item : went_in.items) input.items.names.push_back(item.name);
    input.items.load = [&](std::size_t i) { return went_in.items[i].load(); };
    input.items.media = [&](std::size_t i) { return went_in.items[i].media; };
    const c10::Device on = device_of(device);
    input.runs = {run_of(first, went_in, on), run_of(second, went_in, on)};
    report = judged(input, judge, terminal);
    for (const std::string& note : went_in.notes) report.notes.push_back(note);
    keep_unjudged(pair, input.runs, *first);
  } else {
    report.policy = policy.to_json();
  }
  report.command = "diff";
  if (pair.verdict == Verdict::differ || pair.verdict == Verdict::not_comparable) {
    add_algebra(report, *first, *second, policy, thread_number);
  }
  report.pairs.push_back(std::move(pair));
  if (!report.worst) report.worst = worst_of(report.pairs, {}, {});
  return finish(std::move(report), {}, judge, terminal);
}

}  // namespace vtower::cli
