// Permission to build a tower with a fault in it.
#pragma once

namespace vtower {

namespace explain {
class PlantedTower;  // lib/explain: re-runs a tower with one fault, to name it
}

// What takes this key makes a tower that is not the checkpoint's. No code outside of lib/explain
// can make one, and what its towers return is accepted by no writer.
class PlantingKey {
  PlantingKey() = default;
  friend class explain::PlantedTower;
};

}  // namespace vtower
