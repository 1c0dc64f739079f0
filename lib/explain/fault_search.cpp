#include "explain/fault_search.h"

#include <algorithm>
#include <utility>

#include "check/item_comparison.h"
#include "core/error.h"

namespace vtower::explain {
namespace {

// A candidate must explain at least this share of the mismatch.
constexpr double most_left_over = 0.5;
// Candidates whose residual is that close to the best one's cannot be told from it.
constexpr double told_apart = 1.25;

std::vector<TokenRows> rows_of_all(const Tensors& tensors) {
  std::vector<TokenRows> rows;
  for (const at::Tensor& tensor : tensors) rows.push_back(rows_of(tensor));
  return rows;
}

}  // namespace

FaultSearch::FaultSearch(const PlantedTower& run, const PlantedTower& wide, RawPatches batch,
                         double k, int threads, Keep keep)
    : run_(run),
      wide_(wide),
      batch_(std::move(batch)),
      k_(k),
      threads_(threads),
      keep_(keep),
      sound_run_(run.encode(batch_)),
      sound_wide_(wide.encode(batch_)) {
  for (const GridThw& grid : batch_.grids()) {
    tokens_.push_back(grid.tokens(batch_.layout().merge_size));
  }
}

FaultSearch::Planted& FaultSearch::plant(const Fault& fault) {
  const auto found = planted_.find(fault.name());
  if (found != planted_.end()) return found->second;
  Planted planted{run_.encode(fault, batch_, sound_run_), std::nullopt};
  if (keep_ == Keep::no) planted_.clear();
  return planted_.emplace(fault.name(), std::move(planted)).first->second;
}

std::optional<Tensors> FaultSearch::planted(const Fault& fault) {
  try {
    return plant(fault).run.tensors();
  } catch (const Error& error) {
    switch (error.kind()) {
      case ErrorKind::out_of_range:  // other sizes than the side has
      case ErrorKind::too_large:
      case ErrorKind::aspect_ratio:
      case ErrorKind::unsupported: return std::nullopt;
      default: throw;
    }
  }
}

Distance FaultSearch::distance_of(const std::vector<ItemRows>& side, const Tensors& planted) const {
  Distance all;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < side.size(); ++i) {
    if (!side[i].empty()) {
      all = larger(all, distance(side[i], tokens_of(planted, first, tokens_[i]), threads_));
    }
    first += tokens_[i];
  }
  return all;
}

Distance FaultSearch::floor_of(const Tensors& run, const Tensors& wide) const {
  Distance all;
  std::int64_t first = 0;
  for (const std::int64_t count : tokens_) {
    all = larger(all, distance(rows_of_all(tokens_of(run, first, count)),
                               tokens_of(wide, first, count), threads_));
    first += count;
  }
  return all;
}

std::optional<Candidate> FaultSearch::held_against(const Fault& fault,
                                                   const std::vector<ItemRows>& side) {
  if (!planted(fault)) return std::nullopt;
  Planted& planted = plant(fault);
  const Distance mismatch = distance_of(side, sound_wide_.tensors());
  const Distance near = distance_of(side, planted.run.tensors());
  Candidate candidate{fault.id, fault.variant, fault.sentence, near.worst, near.pooled, 0, false};
  // Far from the run under the fault is far from the fault: the wide run is spared.
  if (!(near.pooled <= 1.2 * most_left_over * mismatch.pooled)) return candidate;
  if (!planted.wide) planted.wide = wide_.encode(fault, batch_, sound_wide_);
  const Distance floor = floor_of(planted.run.tensors(), planted.wide->tensors());
  const Distance left = distance_of(side, planted.wide->tensors());
  candidate.residual = left.worst;
  candidate.pooled = left.pooled;
  candidate.limit = k_ * floor.worst;
  candidate.fits = left.worst <= candidate.limit && left.pooled <= k_ * floor.pooled &&
                   left.pooled <= most_left_over * mismatch.pooled;
  return candidate;
}

std::optional<Candidate> FaultSearch::held_against(const std::string& name,
                                                   const std::vector<ItemRows>& run,
                                                   const std::vector<ItemRows>& side) const {
  Distance left;
  for (std::size_t i = 0; i < side.size(); ++i) {
    for (std::size_t t = 0; t < side[i].size(); ++t) {
      if (t >= run[i].size() || run[i][t].rows != side[i][t].rows ||
          run[i][t].width != side[i][t].width) {
        return std::nullopt;
      }
      const ItemComparison found = compare_items(side[i][t], run[i][t], Scale::reference, threads_);
      left = larger(left, {found.worst_error, found.pooled_error});
    }
  }
  const Distance mismatch = distance_of(side, sound_wide_.tensors());
  const Distance floor = floor_of(sound_run_.tensors(), sound_wide_.tensors());
  Candidate candidate{name,       "",          "it equals the run given as " + name,
                      left.worst, left.pooled, 2 * k_ * floor.worst,
                      false};
  candidate.fits = left.worst <= candidate.limit && left.pooled <= most_left_over * mismatch.pooled;
  return candidate;
}

Settled settle(std::vector<Candidate> candidates) {
  // Not a number is far from everything.
  std::erase_if(candidates, [](const Candidate& candidate) { return !(candidate.pooled >= 0); });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.pooled < b.pooled; });
  Settled settled;
  const auto is_named = [&](const Candidate& candidate) {
    return std::any_of(settled.fits.begin(), settled.fits.end(),
                       [&](const Candidate& fit) { return fit.id == candidate.id; });
  };
  for (const Candidate& candidate : candidates) {
    if (!candidate.fits || is_named(candidate)) continue;
    if (settled.fits.empty() || candidate.pooled <= told_apart * settled.fits.front().pooled) {
      settled.fits.push_back(candidate);
    }
  }
  const auto second = std::find_if_not(candidates.begin(), candidates.end(), is_named);
  if (second != candidates.end()) settled.runner_up = *second;
  return settled;
}

}  // namespace vtower::explain
