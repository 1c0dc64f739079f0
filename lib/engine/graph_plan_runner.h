// The padded plan over static buffers, without capture.
#pragma once

#include <map>
#include <memory>

#include "engine/budget_ladder.h"
#include "engine/runner.h"
#include "tower/staged_inputs.h"

namespace vtower {

// What a graph is captured for: static sizes, and the longest frame that its kernels launch for.
struct CaptureKey {
  PlanCapacity capacity;
  std::int64_t longest_frame = 0;
  friend constexpr auto operator<=>(const CaptureKey&, const CaptureKey&) = default;
};

// The key of a batch: its budget from the ladder, slots and longest frame rounded up to powers of
// two so that few keys serve many batches. Throws Error{too_large} above the largest budget.
CaptureKey capture_key(const VisionConfig& config, const SeqPlan& plan, const BudgetLadder& ladder);

// What the padded runs of a runner amounted to.
struct PaddingRecord {
  std::int64_t item_rows = 0;
  std::int64_t padded_rows = 0;               // item rows included
  std::map<std::int64_t, std::int64_t> hits;  // budget -> batches

  // A batch of `rows` in a budget.
  void add(std::int64_t rows, std::int64_t budget);

  // 1 where nothing ran.
  [[nodiscard]] double useful_share() const noexcept {
    return padded_rows == 0 ? 1.0
                            : static_cast<double>(item_rows) / static_cast<double>(padded_rows);
  }
};

enum class Poison { off, on };

// The same plan, padding and buffers as a captured graph, run directly, on any device: what tells
// a fault of padding from a fault of capture. Not thread-safe.
class GraphPlanRunner final : public Runner {
 public:
  // With poison, all that a fill does not write is overwritten before each batch, and every item's
  // rows must come out as finite as without. The tower must outlive the runner.
  GraphPlanRunner(const VisionTower& tower, BudgetLadder ladder, Poison poison);

  [[nodiscard]] std::vector<ItemEmbeddings> run(const RawPatches& patches,
                                                const StageTrace& trace) override;
  [[nodiscard]] StageSearch find_non_finite(const RawPatches& patches) override;
  [[nodiscard]] LedgerRecord ledger() const override { return ledger_.record(); }
  [[nodiscard]] const PaddingRecord& padding() const noexcept { return padding_; }

 private:
  // The buffers of a batch's key, filled with it.
  StagedInputs& staged(const RawPatches& patches);

  const VisionTower& tower_;
  BudgetLadder ladder_;
  Poison poison_;
  PaddingRecord padding_;
  LedgerCheck ledger_;
  std::map<CaptureKey, StagedInputs> buffers_;
};

}  // namespace vtower
