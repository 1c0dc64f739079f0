// The tower axis of `bench`.
#pragma once

#include <cstdint>

#include "cli/record.h"
#include "tower/vision_tower.h"

namespace vtower::cli {

// Arithmetic of one pass, a multiplication and an addition counted as two.
struct TowerWork {
  double linear = 0;
  double attention = 0;
};
TowerWork tower_work(const VisionConfig& config, const SeqPlan& plan);

// A picture of noise, at most side x side pixels.
RawPatches noise_picture(const VisionConfig& config, std::int64_t side);

// Times the tower on one picture of side x side pixels of noise. The ceiling is the best rate that
// a plain LibTorch product of the tower's own shapes and dtype reaches in the same run.
Json bench_tower(const VisionTower& tower, std::int64_t side, int repeats);

}  // namespace vtower::cli
