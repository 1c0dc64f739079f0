// What one pass through a tower did, stage by stage.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/vision_config.h"

namespace vtower {

// One stage's output, as it left the stage.
struct LedgerEntry {
  std::string stage;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  at::ScalarType dtype = at::kFloat;
  c10::Device device = c10::kCPU;
};

struct Ledger {
  std::vector<LedgerEntry> entries;  // in the order they ran
  // float32 [2, 3] on the tower's device: the smallest and the largest value of each channel that
  // the patch embedding was given. On a GPU it is computed by the run, inside a graph by the graph.
  at::Tensor norm_range;
};

// The stages of a tower of this configuration, in the order in which each runs exactly once.
std::vector<std::string> declared_stages(const VisionConfig& config);

}  // namespace vtower
