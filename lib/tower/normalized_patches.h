// Pixels inside of the tower.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace vtower {

// [N, K] in the tower's dtype. Only InputNorm makes them and only PatchEmbed takes them, so pixels
// are normalised exactly once, whoever calls the tower.
class NormalizedPatches {
 public:
  NormalizedPatches(NormalizedPatches&&) noexcept = default;
  NormalizedPatches& operator=(NormalizedPatches&&) = delete;
  NormalizedPatches(const NormalizedPatches&) = delete;
  NormalizedPatches& operator=(const NormalizedPatches&) = delete;
  ~NormalizedPatches() = default;

 private:
  friend class InputNorm;
  friend class PatchEmbed;
  explicit NormalizedPatches(at::Tensor values) : values_(std::move(values)) {}

  at::Tensor values_;
};

}  // namespace vtower
