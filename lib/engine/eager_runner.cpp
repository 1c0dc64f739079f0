#include "engine/runner.h"
#include "engine/split_output.h"

namespace vtower {

std::vector<ItemEmbeddings> EagerRunner::run(const RawPatches& patches, const StageTrace& trace) {
  const SeqPlan plan = make_seq_plan(tower_.config(), patches.grids());
  const TowerOutput output = tower_.encode(patches, plan, trace);
  ledger_.add(output.ledger, output.ledger.norm_range.cpu());
  return split_output(output, patches.grids(), tower_.config().layout.merge_size, Ownership::view);
}

StageSearch EagerRunner::find_non_finite(const RawPatches& patches) {
  NonFiniteWatch watch(patches);
  (void)tower_.encode(patches, make_seq_plan(tower_.config(), patches.grids()), watch.trace());
  return {watch.first(), "alone"};
}

}  // namespace vtower
