#include "explain/depth.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "explain/distance.h"
#include "explain/yardstick.h"
#include "tower/ledger.h"
#include "tower/vision_tower.h"

namespace vtower::explain {
namespace {

bool is_block(const std::string& stage) {
  return stage.starts_with("block.");
}

// The stages on the way of the rows, with as many blocks as `most_blocks`; the last one always.
std::vector<std::string> stages_on_the_way(const VisionConfig& config, std::int64_t most_blocks) {
  const std::int64_t step = (config.depth + most_blocks - 1) / most_blocks;
  std::vector<std::string> stages;
  std::int64_t block = 0;
  for (const std::string& stage : declared_stages(config)) {
    if (stage == "pos_embed" || stage.ends_with(".attn") || stage.ends_with(".mlp")) continue;
    if (is_block(stage) && (config.depth - 1 - block++) % step != 0) continue;
    stages.push_back(stage);
  }
  return stages;
}

std::int64_t blocks_that_fit(const VisionConfig& config, const RawPatches& item) {
  const std::int64_t bytes = item.rows() * config.width * static_cast<std::int64_t>(sizeof(double));
  return std::clamp<std::int64_t>(Depth::most_bytes / bytes, 1, config.depth);
}

StageTensors oracle_stages(const Checkpoint& checkpoint, const RawPatches& item,
                           const std::vector<std::string>& stages,
                           const oracle::OracleOptions& options) {
  const auto request =
      oracle::StageRequest::of(std::set<std::string>(stages.begin(), stages.end()));
  return oracle::Oracle(checkpoint, options).encode_item(item, 0, request).stages;
}

double error_of(const at::Tensor& side, const at::Tensor& truth, int threads) {
  if (side.sizes() != truth.sizes()) return std::numeric_limits<double>::infinity();
  return distance({rows_of(side)}, {truth}, threads).worst;
}

}  // namespace

Depth::Depth(const Checkpoint& checkpoint, const Placement& placement, const RawPatches& item,
             int threads)
    : checkpoint_(checkpoint),
      tower_(checkpoint, placement),
      item_(item),
      threads_(threads),
      stages_(stages_on_the_way(checkpoint.vision(), blocks_that_fit(checkpoint.vision(), item))),
      truth_(oracle_stages(checkpoint, item, stages_, {})) {
  oracle::OracleOptions rounding;
  rounding.rounded_to = placement.dtype;
  for (const auto& [name, value] : oracle_stages(checkpoint, item, stages_, rounding)) {
    const at::Tensor rounded = value.to(placement.scalar_type()).contiguous();
    floor_[name] = error_of(rounded, truth_.at(name), threads);
  }
  eager_ = under(Fault{});
  for (StageError& stage : eager_) {
    double& floor = floor_[stage.name];
    // Accept-form: a run that is no number raises no floor.
    const double most = Yardstick::most_of_own * floor;
    floor = std::max(floor, stage.error <= most ? stage.error : most);
    stage.floor = floor;
  }
}

std::vector<StageError> Depth::of(const StageTensors& side) const {
  std::vector<StageError> errors;
  for (const std::string& stage : stages_) {
    const auto found = side.find(stage);
    if (found == side.end()) continue;
    errors.push_back(
        {stage, error_of(found->second, truth_.at(stage), threads_), floor_.at(stage)});
  }
  return errors;
}

std::vector<StageError> Depth::under(const Fault& fault) const {
  return of(stages_under(fault));
}

std::optional<std::vector<StageError>> Depth::under(const std::string& id,
                                                    const std::string& variant) const {
  const Setting setting{checkpoint_.vision(), checkpoint_.preprocessor().norm, item_.grids()};
  for (const Fault& fault : catalogue(setting)) {
    const bool is_it = fault.id == id && (variant.empty() || fault.variant == variant);
    if (is_it && !fault.needs_batch) return under(fault);
  }
  return std::nullopt;
}

StageTensors Depth::stages_under(const Fault& fault) const {
  StageTensors found;
  Fault watched = fault;
  watched.trace = [&](const SeqPlan& plan) {
    const StageTrace inner = fault.trace ? fault.trace(plan) : StageTrace();
    return StageTrace([&found, inner, this](const std::string& stage, const at::Tensor& value) {
             inner(stage, value);  // may overwrite it
             const auto truth = truth_.find(stage);
             if (truth == truth_.end()) return;
             const std::int64_t rows = std::min(value.size(0), truth->second.size(0));
             found[stage] = value.narrow(0, 0, rows).cpu().clone();
           })
        .with_internals(
            [inner](const std::string& name, at::Tensor& value) { inner.internal(name, value); });
  };
  const PlantedEmbeddings last = tower_.encode(watched, item_, tower_.encode(item_));
  found["merger"] = last.tensors().front().contiguous();
  for (std::size_t level = 1; level < last.tensors().size(); ++level) {
    found["deepstack." + std::to_string(level - 1)] = last.tensors()[level].contiguous();
  }
  return found;
}

std::optional<std::string> first_wrong_stage(const std::vector<StageError>& stages, double k) {
  for (const StageError& stage : stages) {
    if (!(stage.error <= k * stage.floor)) return stage.name;
  }
  return std::nullopt;
}

}  // namespace vtower::explain
