// A checkpoint ready to run in the mode that was asked for.
#pragma once

#include <memory>
#include <optional>

#include "cli/record.h"
#include "cli/run_arguments.h"
#include "engine/graph_plan_runner.h"
#include "engine/graph_runner.h"
#include "engine/runner.h"
#include "tower/vision_tower.h"

namespace vtower::cli {

// Owns tower and runner. Throws Error{mode_unavailable} where the mode cannot run here: it never
// takes another one.
class ModeRun {
 public:
  ModeRun(const RunArguments& arguments, const Checkpoint& checkpoint, int threads);

  [[nodiscard]] Runner& runner() { return *runner_; }
  // Rows that the batches of this mode hold at the most.
  [[nodiscard]] std::int64_t max_batch_rows() const noexcept { return max_batch_rows_; }
  // What ran, once it has.
  [[nodiscard]] Json attestation() const;
  [[nodiscard]] LedgerRecord ledger() const { return runner_->ledger(); }

 private:
  RunArguments arguments_;
  Placement placement_;
  int threads_;
  std::int64_t max_batch_rows_;
  std::optional<VisionTower> tower_;
  std::unique_ptr<Runner> runner_;
  GraphRecord graphs_;
  const GraphPlanRunner* graph_plan_ = nullptr;
  std::optional<BudgetLadder> ladder_;
};

}  // namespace vtower::cli
