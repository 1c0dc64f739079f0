#include "explain/selftest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "explain/explain.h"
#include "explain/yardstick.h"

namespace vtower::explain {
namespace {

// Tokens of each item of a batch.
std::vector<Tensors> by_item(const Tensors& batch, const std::vector<RawPatches>& items) {
  std::vector<Tensors> cut;
  std::int64_t first = 0;
  for (const RawPatches& item : items) {
    const std::int64_t count = item.grids().front().tokens(item.layout().merge_size);
    cut.push_back(tokens_of(batch, first, count));
    first += count;
  }
  return cut;
}

ItemRows views(const Tensors& tensors) {
  ItemRows rows;
  for (const at::Tensor& tensor : tensors) rows.push_back(rows_of(tensor));
  return rows;
}

// The gate of `check`: each tensor of each item against its truth and limit.
class Gate {
 public:
  Gate(const Checkpoint& checkpoint, const Placement& placement,
       const std::vector<RawPatches>& items, const SelftestOptions& options)
      : items_(items), options_(options) {
    const Yardstick yardstick(checkpoint, {placement});
    for (std::size_t i = 0; i < items.size(); ++i) {
      const RawPatches& neighbour = items[(i + 1) % items.size()];
      measured_.push_back(yardstick.measure(items[i], neighbour, options.threads));
    }
  }

  // The largest share of a limit that a token takes; not a number where a token is none.
  [[nodiscard]] double used(const Tensors& batch) const {
    double used = 0;
    const std::vector<Tensors> cut = by_item(batch, items_);
    for (std::size_t i = 0; i < cut.size(); ++i) {
      for (std::size_t t = 0; t < cut[i].size(); ++t) {
        const double limit = options_.policy.k * measured_[i].floor[0][t];
        const double share =
            distance({rows_of(cut[i][t])}, {measured_[i].truth[t]}, options_.threads).worst / limit;
        if (!(share <= used)) used = share;
      }
    }
    return used;
  }

 private:
  const std::vector<RawPatches>& items_;
  const SelftestOptions& options_;
  std::vector<ItemYardstick> measured_;
};

Tensors at_strength(const Tensors& sound, const Tensors& faulty, double strength) {
  Tensors mixed;
  for (std::size_t t = 0; t < sound.size(); ++t) {
    const at::Tensor from = sound[t].to(at::kDouble);
    mixed.push_back(from.add(faulty[t].to(at::kDouble).sub(from), strength)
                        .to(sound[t].scalar_type())
                        .contiguous());
  }
  return mixed;
}

void name(SelftestRow& row, FaultSearch& search, const std::vector<Fault>& faults,
          const Tensors& faulty, const std::vector<RawPatches>& items) {
  const std::vector<Tensors> cut = by_item(faulty, items);
  std::vector<ItemRows> side;
  for (const Tensors& tensors : cut) side.push_back(views(tensors));
  std::vector<Candidate> candidates;
  for (const Fault& fault : faults) {
    if (auto candidate = search.held_against(fault, side)) {
      candidates.push_back(std::move(*candidate));
    }
  }
  row.naming = Naming::nothing;
  for (const Candidate& fit : settle(std::move(candidates)).fits) {
    if (fit.id == row.id) {
      row.naming = Naming::right;
    } else {
      row.also.push_back(fit.id);
    }
  }
  if (row.naming != Naming::right && !row.also.empty()) row.naming = Naming::wrong;
}

Placement wider(const Placement& placement) {
  if (placement.dtype == DType::f32) return {DType::f64, c10::kCPU};
  return {DType::f32, placement.device};
}

}  // namespace

Selftest run_selftest(const Checkpoint& checkpoint, const Placement& placement,
                      const std::vector<RawPatches>& items, std::vector<Fault> more,
                      const SelftestOptions& options) {
  constexpr double weakest = 1.0 / (1 << 30);
  const Gate gate(checkpoint, placement, items, options);
  const PlantedTower run(checkpoint, placement);
  const PlantedTower wide(checkpoint, wider(placement));
  std::vector<const RawPatches*> parts;
  for (const RawPatches& item : items) parts.push_back(&item);
  FaultSearch search(run, wide, RawPatches::concat(parts), options.policy.k, options.threads,
                     Keep::yes);
  std::vector<Fault> faults =
      catalogue({checkpoint.vision(), checkpoint.preprocessor().norm, search.batch().grids()});
  std::move(more.begin(), more.end(), std::back_inserter(faults));

  Selftest result;
  result.sound_passes = gate.used(search.sound()) <= 1;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i];
    const std::optional<Tensors> faulty = search.planted(fault);
    if (!faulty) continue;
    SelftestRow row;
    row.id = fault.id;
    row.variant = fault.variant;
    row.sentence = fault.sentence;
    row.effect = gate.used(*faulty);
    row.caught = !(row.effect <= 1);
    const double in_floors = row.effect * options.policy.k;
    row.missed = !row.caught && !(in_floors <= 2 * Policy::standard().k);
    if (row.caught) {
      double strength = 1;
      while (strength > weakest &&
             !(gate.used(at_strength(search.sound(), *faulty, strength / 2)) <= 1)) {
        strength /= 2;
      }
      row.smallest_caught = strength;
      name(row, search, faults, *faulty, items);
    }
    result.rows.push_back(std::move(row));
    if (options.on_progress) options.on_progress(i + 1, faults.size());
  }
  return result;
}

}  // namespace vtower::explain
