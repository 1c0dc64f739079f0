#include "explain/explain.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace vtower::explain {
namespace {

Placement wider(const Placement& placement) {
  if (placement.dtype == DType::f32) return {DType::f64, c10::kCPU};
  return {DType::f32, placement.device};
}

RawPatches batch_of(const Evidence& evidence, const std::vector<std::size_t>& items) {
  std::vector<const RawPatches*> parts;
  for (const std::size_t item : items) parts.push_back(evidence.items[item]);
  return RawPatches::concat(parts);
}

std::vector<ItemRows> rows_of(const Evidence& evidence, const std::vector<std::size_t>& items) {
  std::vector<ItemRows> rows;
  for (const std::size_t item : items) rows.push_back(evidence.rows[item]);
  return rows;
}

}  // namespace

Explainer::Explainer(const Checkpoint& checkpoint, const Placement& placement,
                     ExplainOptions options)
    : checkpoint_(checkpoint),
      options_(std::move(options)),
      run_(checkpoint, placement),
      wide_(checkpoint, wider(placement)) {}

Explanation Explainer::explain(const Evidence& evidence) const {
  // The worst item and another failing one; and the batch as it ran.
  constexpr std::size_t most_items = 2;
  std::vector<std::size_t> few = evidence.failing;
  few.resize(std::min(few.size(), most_items));
  std::vector<std::size_t> all(evidence.items.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;

  std::int64_t rows = 0;
  for (const RawPatches* item : evidence.items) rows += item->rows();

  const auto faults_of = [&](const RawPatches& batch) {
    return catalogue({checkpoint_.vision(), checkpoint_.preprocessor().norm, batch.grids()});
  };

  Explanation result;
  std::vector<Candidate> candidates;
  std::size_t done = 0;
  const std::size_t of = faults_of(batch_of(evidence, few)).size();
  const auto begin = std::chrono::steady_clock::now();
  const auto try_all = [&](FaultSearch& search, const std::vector<ItemRows>& side,
                           const std::vector<Fault>& faults, bool in_batch) {
    for (const Fault& fault : faults) {
      if (fault.needs_batch != in_batch) continue;
      const bool found = std::any_of(candidates.begin(), candidates.end(),
                                     [](const Candidate& candidate) { return candidate.fits; });
      if (fault.rank == Fault::Rank::per_block && found) continue;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (spent.count() > options_.most_seconds) {
        result.not_tried.push_back("no time left: " + fault.name());
        continue;
      }
      if (auto candidate = search.held_against(fault, side)) {
        candidates.push_back(std::move(*candidate));
        ++result.tried;
      }
      if (options_.on_progress) options_.on_progress(++done, std::max(done, of));
    }
  };
  if (!evidence.whole_batch) {
    result.not_tried.emplace_back("which items shared a call is not known: faults of a batch");
  } else if (rows > options_.most_batch_rows) {
    result.not_tried.push_back("the batch has " + std::to_string(rows) +
                               " patches: faults of a batch");
  } else {
    FaultSearch search(run_, wide_, batch_of(evidence, all), options_.k, options_.threads,
                       Keep::no);
    try_all(search, rows_of(evidence, all), faults_of(search.batch()), true);
  }
  FaultSearch search(run_, wide_, batch_of(evidence, few), options_.k, options_.threads, Keep::no);
  const std::vector<ItemRows> side = rows_of(evidence, few);
  try_all(search, side, faults_of(search.batch()), false);
  for (const auto& [name, run] : evidence.hypotheses) {
    std::vector<ItemRows> rows_of_few;
    for (const std::size_t item : few) rows_of_few.push_back(run[item]);
    if (auto candidate = search.held_against(name, rows_of_few, side)) {
      candidates.push_back(std::move(*candidate));
      ++result.tried;
    } else {
      result.not_tried.push_back(name + ": it does not have these items");
    }
  }
  if (evidence.media_faults) try_all(search, side, evidence.media_faults(few), false);
  Settled settled = settle(std::move(candidates));
  result.fits = std::move(settled.fits);
  result.runner_up = std::move(settled.runner_up);
  return result;
}

}  // namespace vtower::explain
