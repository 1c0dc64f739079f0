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
  std::int64_t most_graphs = 64;                     // the least recently replayed goes first
  std::int64_t most_bytes = std::int64_t{32} << 30;  // of all graphs and their buffers
};

// What the graphs of a runner amounted to.
struct GraphRecord {
  PaddingRecord padding;
  std::int64_t captures = 0;
  std::int64_t replays = 0;
  std::int64_t nodes = 0;               // of the graphs captured last, per key, summed
  std::int64_t dropped = 0;             // graphs that made room
  std::int64_t restarts = 0;            // times that all graphs were dropped for memory
  double capture_seconds = 0;           // in all, warm-up included
  double slowest_capture_seconds = 0;   // of one graph
  double fill_seconds = 0;              // of the host, staging pixels and metadata, in all
  double launch_seconds = 0;            // of the host, launching replays, in all
  std::int64_t pool_bytes = 0;          // taken from the device by the graphs' pool
  std::int64_t buffer_bytes = 0;        // of the graphs' input buffers
  std::int64_t static_pixel_bytes = 0;  // bytes of a pixel in the static input: 1
};

// Graphs share a memory pool, which a device gets back only as a whole: above most_bytes all graphs
// are dropped and the one at hand is captured anew; Error{memory} where it alone is too large.
// Each CaptureKey has one graph, captured when it is first met: static uint8 rows, one arena with
// all metadata, one copy a replay, outputs copied out before run() returns. Capture happens on a
// stream of its own in thread-local mode, so other threads may go on. Stages cannot be observed
// inside a graph: Error{usage}; find_non_finite() looks at the same pass uncaptured. Throws
// Error{mode_unavailable} where the tower is not on a GPU or the capture fails, naming the reason;
// it never falls back on a direct call. Not thread-safe.
std::unique_ptr<Runner> make_graph_runner(const VisionTower& tower, GraphOptions options,
                                          GraphRecord& record);

}  // namespace vtower
