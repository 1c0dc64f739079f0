// The tower's own normalisation: uint8 in, tower dtype out.
//
// Source: the fused rescale and normalise of transformers 5.17.0 (torchvision backend). With
// m = f32(f32(mean) * f32(1 / rescale_factor)) and s likewise from std, the value of byte u is
// (f32(u) - m) / s in float32, one subtraction and one division, then one cast.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "checkpoint/preprocessor_config.h"
#include "core/planting_key.h"
#include "core/raw_patches.h"
#include "tower/normalized_patches.h"
#include "tower/placement.h"
#include "tower/stage_trace.h"
#include "tower/staged_inputs.h"

namespace vtower {

// The normalised value of each byte, by channel.
using NormTable = std::array<std::array<float, 256>, 3>;

// Immutable, safe to share between threads.
class InputNorm {
 public:
  // There is no default and no identity: the constants stand in the checkpoint's files.
  InputNorm(const NormConstants& constants, const Placement& placement);

  // Any table, for a tower with a fault.
  InputNorm(PlantingKey, const NormTable& table, const Placement& placement);

  // The definition, before the cast: [channel][byte].
  [[nodiscard]] const NormTable& table() const noexcept { return table_; }

  // In the placement's dtype; emits the stage "normalized". On a GPU the only new tensor is the
  // result, and nothing waits.
  [[nodiscard]] NormalizedPatches operator()(const RawPatches& patches,
                                             const StageTrace& trace) const;
  [[nodiscard]] NormalizedPatches operator()(const StagedInputs& inputs,
                                             const StageTrace& trace) const;

 private:
  InputNorm(const NormTable& table, const Placement& placement);
  [[nodiscard]] NormalizedPatches on_cpu(std::span<const std::uint8_t> bytes,
                                         const PatchLayout& layout, const StageTrace& trace) const;

  Placement placement_;
  at::Tensor device_table_;  // float32 [3, 256], on a GPU
  NormTable table_;
};

}  // namespace vtower
