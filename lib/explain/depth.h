// How far a run is from the truth, stage by stage, and the first stage where that is too far.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain/fault.h"
#include "explain/planted_tower.h"
#include "oracle/oracle.h"
#include "tower/placement.h"

namespace vtower::explain {

// What one item was at each stage, under the names and in the orders of tower/stage_trace.h.
using StageTensors = std::map<std::string, at::Tensor>;

struct StageError {
  std::string name;
  double error = 0;  // largest error of a row; NaN where a row is not finite
  double floor = 0;  // what rounding alone can make
};

// The truth of one item at the stages that rows pass on their way: normalized, patch_embed,
// block_input, block.I, deepstack.J and merger, in order. Branches within a block are left out.
//
// The floor of a stage is the error of the oracle when it rounds to the run's type, or that of the
// sound tower where it is larger; as in a Yardstick the latter counts no more than
// Yardstick::most_of_own times the former. Not thread-safe.
class Depth {
 public:
  // Where all blocks of an item would take more memory than this, evenly spread ones are kept.
  static constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

  // `item` holds one item and must outlive this. Throws as Oracle() and VisionTower::load() do.
  Depth(const Checkpoint& checkpoint, const Placement& placement, const RawPatches& item,
        int threads);

  // Of the sound tower, run eagerly.
  [[nodiscard]] const std::vector<StageError>& eager() const noexcept { return eager_; }

  // Of another side; stages that it does not have are left out, a stage of another shape is
  // infinitely wrong. Its tensors are contiguous and on the CPU.
  [[nodiscard]] std::vector<StageError> of(const StageTensors& side) const;

  // Of the tower with `fault` in it.
  [[nodiscard]] std::vector<StageError> under(const Fault& fault) const;
  // The same for a fault of the catalogue (the first of the id where `variant` is empty); empty
  // where there is none, or where it needs other items beside this one.
  [[nodiscard]] std::optional<std::vector<StageError>> under(const std::string& id,
                                                             const std::string& variant) const;

  // The stages of the tower with `fault` in it; rows that the fault adds are cut off.
  [[nodiscard]] StageTensors stages_under(const Fault& fault) const;

 private:
  Checkpoint checkpoint_;
  PlantedTower tower_;
  const RawPatches& item_;
  int threads_;
  std::vector<std::string> stages_;
  StageTensors truth_;
  std::map<std::string, double> floor_;
  std::vector<StageError> eager_;
};

// The name of the first stage beyond k times its floor.
std::optional<std::string> first_wrong_stage(const std::vector<StageError>& stages, double k);

}  // namespace vtower::explain
