// One way of running a tower over a batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "core/raw_patches.h"
#include "engine/ledger_record.h"
#include "engine/stage_search.h"
#include "tower/vision_tower.h"

namespace vtower {

// The tokens of one item, in the tower's dtype.
struct ItemEmbeddings {
  GridThw grid;
  at::Tensor embeddings;              // [tokens, out]
  std::vector<at::Tensor> deepstack;  // each [tokens, out]
};

// A runner does what it was asked or throws; it never falls back on another way.
class Runner {
 public:
  virtual ~Runner() = default;

  // The items of `patches`, in their order. The tensors are the caller's own.
  [[nodiscard]] virtual std::vector<ItemEmbeddings> run(const RawPatches& patches,
                                                        const StageTrace& trace) = 0;

  // Runs items once more that came out with values that are no numbers, to name the stage where
  // they began. Every runner answers, one that shows no stages in run() by another pass, which it
  // names; nothing of it counts in the records of what ran.
  [[nodiscard]] virtual StageSearch find_non_finite(const RawPatches& patches) = 0;

  // The grids of the batches to come: a runner that captures does so now, before the first batch.
  virtual void prepare(std::span<const std::vector<GridThw>> batches) { (void)batches; }

  // What the passes of all batches so far amounted to; none where no tower runs.
  [[nodiscard]] virtual LedgerRecord ledger() const { return {}; }
};

// A direct call on the true rows.
class EagerRunner final : public Runner {
 public:
  // The tower must outlive the runner.
  explicit EagerRunner(const VisionTower& tower) : tower_(tower), ledger_(tower) {}
  [[nodiscard]] std::vector<ItemEmbeddings> run(const RawPatches& patches,
                                                const StageTrace& trace) override;
  [[nodiscard]] StageSearch find_non_finite(const RawPatches& patches) override;
  [[nodiscard]] LedgerRecord ledger() const override { return ledger_.record(); }

 private:
  const VisionTower& tower_;
  LedgerCheck ledger_;
};

}  // namespace vtower
