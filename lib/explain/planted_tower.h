// A tower with one fault in it.
#pragma once

#include <map>
#include <string>

#include "core/planting_key.h"
#include "explain/fault.h"
#include "tower/vision_tower.h"

namespace vtower::explain {

// What a faulty tower returned: for comparing, never for writing. No writer takes it.
class PlantedEmbeddings {
 public:
  // On the CPU, in the tower's dtype.
  [[nodiscard]] const Tensors& tensors() const noexcept { return tensors_; }

 private:
  friend class PlantedTower;
  explicit PlantedEmbeddings(Tensors tensors) : tensors_(std::move(tensors)) {}
  Tensors tensors_;
};

// One checkpoint at one placement, run with one fault at a time. Faults that leave weights and
// arithmetic alone share one body. Not thread-safe.
class PlantedTower {
 public:
  // Throws as VisionTower::load() does.
  PlantedTower(const Checkpoint& checkpoint, const Placement& placement);

  // Without a fault.
  [[nodiscard]] PlantedEmbeddings encode(const RawPatches& batch) const;

  // The batch under `fault`; rows that the fault adds are cut off again. `sound` is what the batch
  // gives without it: faults that only move tokens need no run. Throws Error where the planted run
  // cannot be made (a plan that no longer fits).
  [[nodiscard]] PlantedEmbeddings encode(const Fault& fault, const RawPatches& batch,
                                         const PlantedEmbeddings& sound) const;

  [[nodiscard]] const Placement& placement() const noexcept { return placement_; }

  // The batch replayed by a CUDA graph captured over the faulty tower, after another batch went
  // through the same graph. The fault must lie in norm, arithmetic or weights (asserted). Throws
  // Error{mode_unavailable} where the tower is not on a GPU.
  [[nodiscard]] PlantedEmbeddings encode_in_graph(const Fault& fault,
                                                  const RawPatches& batch) const;

 private:
  [[nodiscard]] VisionTower tower_with(const Fault& fault) const;
  [[nodiscard]] Tensors run(const Fault& fault, const RawPatches& batch) const;

  Checkpoint checkpoint_;
  Placement placement_;
  VisionTower sound_;
};

}  // namespace vtower::explain
