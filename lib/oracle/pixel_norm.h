// The normalisation written a second time, independent of lib/tower.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>

#include "checkpoint/preprocessor_config.h"
#include "core/raw_patches.h"

namespace vtower::oracle {

// Source: the fused rescale-and-normalise of Hugging Face's torchvision-backed processors,
// transformers 5.17.0: mean and std are multiplied by 1 / rescale_factor in float32, then a byte u
// becomes (u - mean) / std in float32.
class PixelNorm {
 public:
  explicit PixelNorm(const NormConstants& constants);

  // float32 [rows of the item, K]. Thread-safe.
  [[nodiscard]] at::Tensor operator()(const RawPatches& patches, std::size_t item) const;

  // Value of byte u in channel c.
  [[nodiscard]] float value(std::size_t c, std::uint8_t u) const { return table_[c][u]; }

 private:
  std::array<std::array<float, 256>, 3> table_;
};

}  // namespace vtower::oracle
