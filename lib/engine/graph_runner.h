// Captured CUDA graphs of the padded plan.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/budget_ladder.h"
#include "engine/graph_plan_runner.h"
#include "engine/runner.h"

namespace vtower {

struct GraphOptions {
  BudgetLadder ladder;
  Poison poison = Poison::off;
  std::int64_t most_graphs = 64;  // the least recently replayed goes first
};

// What the graphs of a runner amounted to.
struct GraphRecord {
  PaddingRecord padding;
  std::int64_t captures = 0;
  std::int64_t replays = 0;
  std::int64_t nodes = 0;               // of the graphs captured last, per key, summed
  std::int64_t dropped = 0;             // graphs that made room
  double capture_seconds = 0;           // in all
  std::int64_t static_pixel_bytes = 0;  // bytes of a pixel in the static input: 1
};

// Each CaptureKey has one graph, captured when it is first met: static uint8 rows, one arena with
// all metadata, one copy a replay, outputs copied out before run() returns. Capture happens on a
// stream of its own in thread-local mode, so other threads may go on. Stages cannot be observed
// inside a graph: Error{usage}. Throws Error{mode_unavailable} where the tower is not on a GPU or
// the capture fails, naming the reason; it never falls back on a direct call. Not thread-safe.
std::unique_ptr<Runner> make_graph_runner(const VisionTower& tower, GraphOptions options,
                                          GraphRecord& record);

}  // namespace vtower
