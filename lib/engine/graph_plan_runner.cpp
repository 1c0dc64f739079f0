#include "engine/graph_plan_runner.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/error.h"
#include "engine/split_output.h"

namespace vtower {
namespace {

std::int64_t power_of_two(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

}  // namespace

CaptureKey capture_key(const VisionConfig& config, const SeqPlan& plan,
                       const BudgetLadder& ladder) {
  const std::optional<std::int64_t> budget = ladder.smallest_for(plan.rows);
  if (!budget) {
    throw Error(ErrorKind::too_large, "budgets",
                std::to_string(plan.rows) + " patches in one item, the largest budget is " +
                    std::to_string(ladder.largest()) +
                    "; give a larger one with --budgets, lower --max-pixels, or allow "
                    "--oversize=eager");
  }
  CaptureKey key{needed_capacity(config, plan, *budget), 0};
  // A slot more, so that a batch with padding and its neighbour without share a key.
  key.capacity.frame_sequences = power_of_two(key.capacity.frame_sequences + 1);
  if (key.capacity.window_sequences > 0) {
    key.capacity.window_sequences = power_of_two(key.capacity.window_sequences + 1);
  }
  const std::int64_t longest =
      std::max(longest_sequence(plan.frame_cu_seqlens), *budget - plan.rows);
  key.longest_frame = std::min(power_of_two(longest), *budget);
  return key;
}

void PaddingRecord::add(std::int64_t rows, std::int64_t budget) {
  item_rows += rows;
  padded_rows += budget;
  ++hits[budget];
}

GraphPlanRunner::GraphPlanRunner(const VisionTower& tower, BudgetLadder ladder, Poison poison)
    : tower_(tower), ladder_(std::move(ladder)), poison_(poison), ledger_(tower) {}

StagedInputs& GraphPlanRunner::staged(const RawPatches& patches) {
  const VisionConfig& config = tower_.config();
  SeqPlan plan = make_seq_plan(config, patches.grids());
  const CaptureKey key = capture_key(config, plan, ladder_);
  auto found = buffers_.find(key);
  if (found == buffers_.end()) {
    found = buffers_.try_emplace(key, config, key.capacity, key.longest_frame, tower_.placement())
                .first;
  }
  StagedInputs& inputs = found->second;
  if (poison_ == Poison::on) inputs.poison_pixels();
  inputs.fill(patches, pad_seq_plan(config, std::move(plan), key.capacity));
  return inputs;
}

std::vector<ItemEmbeddings> GraphPlanRunner::run(const RawPatches& patches,
                                                 const StageTrace& trace) {
  const StagedInputs& inputs = staged(patches);
  padding_.add(patches.rows(), inputs.rows());
  const TowerOutput output = tower_.encode(inputs, trace);
  ledger_.add(output.ledger, output.ledger.norm_range.cpu());
  return split_output(output, patches.grids(), tower_.config().layout.merge_size, Ownership::copy);
}

StageSearch GraphPlanRunner::find_non_finite(const RawPatches& patches) {
  NonFiniteWatch watch(patches);
  (void)tower_.encode(staged(patches), watch.trace());
  return {watch.first(), "alone"};
}

}  // namespace vtower
