// The truth of an item, and how far from it rounding alone can lead.
#pragma once

#include <vector>

#include "core/raw_patches.h"
#include "explain/fault.h"
#include "oracle/oracle.h"
#include "tower/vision_tower.h"

namespace vtower::explain {

struct ItemYardstick {
  Tensors truth;  // of the oracle, float64 [tokens, out]: embeddings, then deepstack levels
  // [placement][tensor]: the largest token error of our reference runs (the item alone, repeated,
  // and packed with another) in the placement's type.
  std::vector<std::vector<double>> floor;
};

// The reference runs share code with the runs they are to judge, so a fault of that code must not
// raise its own floor: no floor counts above `most_of_own` times the largest token error of the
// oracle itself when it rounds to the same type after every operation.
class Yardstick {
 public:
  static constexpr double most_of_own = 4;

  // Throws as Oracle() and VisionTower::load() do.
  Yardstick(const Checkpoint& checkpoint, std::vector<Placement> placements);

  // `item` holds one item; `neighbour` another (or the same), for the packed run. Not thread-safe.
  [[nodiscard]] ItemYardstick measure(const RawPatches& item, const RawPatches& neighbour,
                                      int threads) const;

 private:
  struct Reference {
    VisionTower tower;
    oracle::Oracle rounded;
  };
  oracle::Oracle oracle_;
  std::vector<Reference> references_;  // one for each placement
};

}  // namespace vtower::explain
