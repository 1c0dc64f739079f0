#include "tower/vision_tower.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"

namespace vtower {
namespace {

std::unique_ptr<const TowerBody> make_body(WeightSource& weights, const VisionConfig& config,
                                           const Placement& placement) {
  switch (config.family) {
    case Family::qwen2_vl: return make_qwen2_vl_body(weights, config, placement);
    case Family::qwen2_5_vl: return make_qwen2_5_vl_body(weights, config, placement);
    case Family::qwen3_vl: return make_qwen3_vl_body(weights, config, placement);
  }
  return nullptr;
}

Bias patch_embed_bias(Family family) {
  return family == Family::qwen3_vl ? Bias::present : Bias::none;
}

}  // namespace

VisionTower VisionTower::load(const Checkpoint& checkpoint, const Placement& placement) {
  const c10::InferenceMode inference;
  const c10::DeviceGuard on_device(placement.device);
  WeightSource weights = checkpoint.weights();
  VisionTower tower(checkpoint.vision(), InputNorm(checkpoint.preprocessor().norm, placement),
                    placement, weights);
  weights.finish();
  return tower;
}

VisionTower VisionTower::plant(PlantingKey key, const Checkpoint& checkpoint,
                               const Placement& placement, const VisionConfig& config,
                               WeightSource::Editor editor) {
  const c10::InferenceMode inference;
  const c10::DeviceGuard on_device(placement.device);
  WeightSource weights = checkpoint.weights();
  weights.edit_with(key, std::move(editor));
  return {config, InputNorm(checkpoint.preprocessor().norm, placement), placement, weights};
}

VisionTower VisionTower::with_norm(PlantingKey key, const NormTable& table) const {
  VisionTower tower(*this);
  tower.input_norm_ = InputNorm(key, table, placement_);
  return tower;
}

VisionTower::VisionTower(const VisionConfig& config, InputNorm norm, const Placement& placement,
                         WeightSource& weights)
    : config_(config),
      placement_(placement),
      input_norm_(std::move(norm)),
      patch_embed_(weights, config_, placement_, patch_embed_bias(config_.family)),
      body_(make_body(weights, config_, placement_)) {}

TowerOutput VisionTower::encode(const RawPatches& patches, const SeqPlan& plan,
                                const StageTrace& trace) const {
  if (patches.layout() != config_.layout || patches.grids() != plan.grids ||
      patches.rows() != plan.rows) {
    throw Error(ErrorKind::out_of_range, "vision_tower",
                "the plan was made for other grids, or the rows have another layout, than the " +
                    std::to_string(patches.rows()) + " rows given");
  }
  const c10::InferenceMode inference;
  const c10::DeviceGuard on_device(placement_.device);  // kernels go where the thread's device is
  if (placement_.device.is_cpu()) {
    return forward([&](const StageTrace& noting) { return input_norm_(patches, noting); },
                   PlanTensors(plan, placement_), trace);
  }
  const auto sequences = [](const std::vector<std::int32_t>& cu_seqlens) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(cu_seqlens.size()) - 1, 0);
  };
  StagedInputs inputs(
      config_, {plan.rows, sequences(plan.frame_cu_seqlens), sequences(plan.window_cu_seqlens)},
      longest_sequence(plan.frame_cu_seqlens), placement_);
  inputs.fill(patches, plan);
  return encode(inputs, trace);
}

TowerOutput VisionTower::encode(const StagedInputs& inputs, const StageTrace& trace) const {
  const c10::InferenceMode inference;
  const c10::DeviceGuard on_device(placement_.device);
  return forward([&](const StageTrace& noting) { return input_norm_(inputs, noting); },
                 inputs.plan(), trace);
}

template <typename Normalize>
TowerOutput VisionTower::forward(const Normalize& normalize, const PlanTensors& plan,
                                 const StageTrace& trace) const {
  Ledger ledger;
  const StageTrace noting = trace.noting_in(ledger);
  TowerOutput output = body_->forward(patch_embed_(normalize(noting), noting), plan, noting);
  output.ledger = std::move(ledger);
  return output;
}

}  // namespace vtower
