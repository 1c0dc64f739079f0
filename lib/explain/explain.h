// Which fault makes a sound run equal to a faulty one.
//
// The tower is run again with one planted fault at a time. A fault is named when the faulty side
// lies as close to it as rounding allows under that very fault: within k times the largest token
// error that a run in the side's dtype has against the same fault in a wider type.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/fault_search.h"
#include "explain/planted_tower.h"

namespace vtower::explain {

// A faulty side and the pixels it was made from.
struct Evidence {
  std::vector<const RawPatches*> items;  // one item each, in the order of the batch
  std::vector<ItemRows> rows;            // of each item
  std::vector<std::size_t> failing;      // the worst first; at least one
  bool whole_batch = true;               // `items` is all that shared a call
  // Runs of the user's own: a name, and its rows of each item.
  std::vector<std::pair<std::string, std::vector<ItemRows>>> hypotheses = {};
  // Faults of how these items became pixels (media_faults.h); may be empty.
  std::function<std::vector<Fault>(const std::vector<std::size_t>& items)> media_faults;
};

struct ExplainOptions {
  double k = 3;
  int threads = 1;
  double most_seconds = 600;             // after which no further fault is tried
  std::int64_t most_batch_rows = 32768;  // above: faults of a batch are not tried
  std::function<void(std::size_t done, std::size_t of)> on_progress;
};

struct Explanation {
  std::vector<Candidate> fits;  // the best first; several: these inputs cannot tell them apart
  std::optional<Candidate> runner_up;
  std::size_t tried = 0;
  std::vector<std::string> not_tried;  // names, with the reason in front
};

// One checkpoint at the placement of the faulty run. Not thread-safe.
class Explainer {
 public:
  // Throws as VisionTower::load() does.
  Explainer(const Checkpoint& checkpoint, const Placement& placement, ExplainOptions options);

  [[nodiscard]] Explanation explain(const Evidence& evidence) const;

 private:
  Checkpoint checkpoint_;
  ExplainOptions options_;
  PlantedTower run_;   // in the side's dtype
  PlantedTower wide_;  // float64 for float32, float32 for narrower ones
};

}  // namespace vtower::explain
