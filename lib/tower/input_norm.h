// The tower's own normalisation: uint8 in, tower dtype out.
//
// Source: the fused rescale and normalise of transformers 5.17.0 (torchvision backend). With
// m = f32(f32(mean) * f32(1 / rescale_factor)) and s likewise from std, the value of byte u is
// (f32(u) - m) / s in float32, one subtraction and one division, then one cast.
#pragma once

#include <array>
#include <cstdint>

#include "checkpoint/preprocessor_config.h"
#include "core/raw_patches.h"
#include "tower/normalized_patches.h"
#include "tower/placement.h"
#include "tower/stage_trace.h"

namespace vtower {

// Immutable, safe to share between threads.
class InputNorm {
 public:
  // There is no default and no identity: the constants stand in the checkpoint's files.
  explicit InputNorm(const NormConstants& constants);

  // The definition, before the cast: [channel][byte].
  [[nodiscard]] const std::array<std::array<float, 256>, 3>& table() const noexcept {
    return table_;
  }

  // Emits the stage "normalized".
  [[nodiscard]] NormalizedPatches operator()(const RawPatches& patches, const Placement& placement,
                                             const StageTrace& trace) const;

 private:
  std::array<std::array<float, 256>, 3> table_;
};

}  // namespace vtower
