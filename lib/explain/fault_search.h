// One batch, run with one fault after the other and held against faulty sides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain/distance.h"
#include "explain/fault.h"
#include "explain/planted_tower.h"

namespace vtower::explain {

// Tokens of one item on a faulty side: embeddings, then deepstack levels (none: not compared).
using ItemRows = std::vector<TokenRows>;

// How far a faulty side is from a fault.
struct Candidate {
  std::string id;
  std::string variant;
  std::string sentence;
  double residual = 0;  // worst token error against the fault
  double pooled = 0;    // the same over all tokens together
  double limit = 0;     // what rounding allows under the fault; 0: was not measured
  bool fits = false;
};

// Whether planted runs are kept for further sides.
enum class Keep { no, yes };

// Not thread-safe. The towers must outlive it.
class FaultSearch {
 public:
  FaultSearch(const PlantedTower& run, const PlantedTower& wide, RawPatches batch, double k,
              int threads, Keep keep);

  [[nodiscard]] const RawPatches& batch() const noexcept { return batch_; }
  // Without a fault, in the type of the run.
  [[nodiscard]] const Tensors& sound() const noexcept { return sound_run_.tensors(); }
  // Under a fault, in the type of the run; empty where it cannot be planted here.
  [[nodiscard]] std::optional<Tensors> planted(const Fault& fault);

  // Holds `side` (the items of the batch in order) against the fault. Empty where the fault cannot
  // be planted here. A fault fits when the worst token of the side is within k times what a run
  // under the fault differs from the same fault in the wide type, likewise all tokens together, and
  // when at most half of the side's distance from a sound run is left.
  [[nodiscard]] std::optional<Candidate> held_against(const Fault& fault,
                                                      const std::vector<ItemRows>& side);

  // The same for a run of the user's own (its items in the order of the batch): both sides may
  // differ from what they stand for by rounding, so the limit is twice that of a sound run. Empty
  // where it does not have the side's tokens.
  [[nodiscard]] std::optional<Candidate> held_against(const std::string& name,
                                                      const std::vector<ItemRows>& run,
                                                      const std::vector<ItemRows>& side) const;

 private:
  struct Planted {
    PlantedEmbeddings run;
    std::optional<PlantedEmbeddings> wide;
  };
  [[nodiscard]] Planted& plant(const Fault& fault);
  [[nodiscard]] Distance distance_of(const std::vector<ItemRows>& side,
                                     const Tensors& planted) const;
  [[nodiscard]] Distance floor_of(const Tensors& run, const Tensors& wide) const;

  const PlantedTower& run_;
  const PlantedTower& wide_;
  RawPatches batch_;
  std::vector<std::int64_t> tokens_;  // of each item
  double k_;
  int threads_;
  Keep keep_;
  PlantedEmbeddings sound_run_;
  PlantedEmbeddings sound_wide_;
  std::map<std::string, Planted> planted_;  // by name; the last alone where none is kept
};

// What a search comes to: one candidate of each id, the closest, and only those that cannot be told
// from the best; the nearest of all others.
struct Settled {
  std::vector<Candidate> fits;
  std::optional<Candidate> runner_up;
};
Settled settle(std::vector<Candidate> candidates);

}  // namespace vtower::explain
