// The tower: raw bytes in, embeddings out.
#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "core/raw_patches.h"
#include "tower/input_norm.h"
#include "tower/patch_embed.h"
#include "tower/placement.h"
#include "tower/seq_plan.h"
#include "tower/stage_trace.h"
#include "tower/tower_body.h"

namespace vtower {

// Immutable after load(), safe to share between threads. encode() is the only door: it takes raw
// bytes and normalises them itself, so no caller can skip the normalisation or do it twice.
class VisionTower {
 public:
  // Throws Error{checkpoint} on a missing, unused, mis-shaped or non-finite vision tensor.
  static VisionTower load(const Checkpoint& checkpoint, const Placement& placement);

  // A tower with other arithmetic or other weights than the checkpoint's: `config` and what
  // `editor` (may be empty) makes of the tensors.
  static VisionTower plant(PlantingKey key, const Checkpoint& checkpoint,
                           const Placement& placement, const VisionConfig& config,
                           WeightSource::Editor editor);
  // The same weights behind another table.
  [[nodiscard]] VisionTower with_norm(PlantingKey key, const NormTable& table) const;

  // `plan` must be made from patches.grids(). Throws Error{out_of_range} when it was not, or when
  // the layout of the rows is not the tower's.
  [[nodiscard]] TowerOutput encode(const RawPatches& patches, const SeqPlan& plan,
                                   const StageTrace& trace = StageTrace()) const;

  // The same from buffers of fixed place, filled with a batch before: what graphs capture. Output
  // rows beyond the items' tokens are padding. On a GPU nothing waits for the device.
  [[nodiscard]] TowerOutput encode(const StagedInputs& inputs,
                                   const StageTrace& trace = StageTrace()) const;

  [[nodiscard]] const VisionConfig& config() const noexcept { return config_; }
  [[nodiscard]] const Placement& placement() const noexcept { return placement_; }
  [[nodiscard]] const InputNorm& input_norm() const noexcept { return input_norm_; }

 private:
  // Normalisation, embedding and body, noted in the output's ledger.
  template <typename Normalize>
  TowerOutput forward(const Normalize& normalize, const PlanTensors& plan,
                      const StageTrace& trace) const;

  VisionTower(const VisionConfig& config, InputNorm norm, const Placement& placement,
              WeightSource& weights);

  VisionConfig config_;
  Placement placement_;
  InputNorm input_norm_;
  PatchEmbed patch_embed_;
  std::shared_ptr<const TowerBody> body_;
};

}  // namespace vtower
