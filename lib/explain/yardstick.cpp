#include "explain/yardstick.h"

#include <algorithm>
#include <utility>

#include "explain/distance.h"

namespace vtower::explain {
namespace {

Tensors tensors_of(const TowerOutput& output, std::int64_t first, std::int64_t count) {
  Tensors tensors{output.embeddings};
  tensors.insert(tensors.end(), output.deepstack.begin(), output.deepstack.end());
  for (at::Tensor& tensor : tensors) tensor = tensor.narrow(0, first, count).cpu().contiguous();
  return tensors;
}

Tensors tensors_of(oracle::OracleOutput output) {
  Tensors tensors{std::move(output.embeddings)};
  std::move(output.deepstack.begin(), output.deepstack.end(), std::back_inserter(tensors));
  return tensors;
}

Tensors run(const VisionTower& tower, const RawPatches& rows, std::int64_t first,
            std::int64_t count) {
  return tensors_of(tower.encode(rows, make_seq_plan(tower.config(), rows.grids())), first, count);
}

// The worst token of each tensor.
std::vector<double> errors(const Tensors& run, const Tensors& truth, int threads) {
  std::vector<double> worst;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    worst.push_back(distance({rows_of(run[i])}, {truth[i]}, threads).worst);
  }
  return worst;
}

}  // namespace

Yardstick::Yardstick(const Checkpoint& checkpoint, std::vector<Placement> placements)
    : oracle_(checkpoint) {
  for (const Placement& placement : placements) {
    oracle::OracleOptions options;
    options.rounded_to = placement.dtype;
    references_.push_back(
        {VisionTower::load(checkpoint, placement), oracle::Oracle(checkpoint, options)});
  }
}

ItemYardstick Yardstick::measure(const RawPatches& item, const RawPatches& neighbour,
                                 int threads) const {
  ItemYardstick found{tensors_of(oracle_.encode_item(item, 0)), {}};
  const std::vector<const RawPatches*> before{&neighbour, &item};
  const RawPatches packed = RawPatches::concat(before);
  const std::int64_t merge = item.layout().merge_size;
  const std::int64_t tokens = item.grids().front().tokens(merge);
  for (const Reference& reference : references_) {
    const std::vector<double> alone =
        errors(run(reference.tower, item, 0, tokens), found.truth, threads);
    const std::vector<double> again =
        errors(run(reference.tower, item, 0, tokens), found.truth, threads);
    const std::vector<double> among =
        errors(run(reference.tower, packed, neighbour.grids().front().tokens(merge), tokens),
               found.truth, threads);
    const std::vector<double> own =
        errors(tensors_of(reference.rounded.encode_item(item, 0)), found.truth, threads);
    std::vector<double>& floor = found.floor.emplace_back();
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const double ours = std::max({alone[i], again[i], among[i]});
      // Accept-form: a reference run that is no number counts as the oracle's own rounding.
      floor.push_back(ours <= most_of_own * own[i] ? ours : most_of_own * own[i]);
    }
  }
  return found;
}

}  // namespace vtower::explain
