#include "engine/runner.h"
#include "engine/split_output.h"

namespace vtower {

std::vector<ItemEmbeddings> EagerRunner::run(const RawPatches& patches, const StageTrace& trace) {
  const SeqPlan plan = make_seq_plan(tower_.config(), patches.grids());
  return split_output(tower_.encode(patches, plan, trace), patches.grids(),
                      tower_.config().layout.merge_size, Ownership::view);
}

}  // namespace vtower
