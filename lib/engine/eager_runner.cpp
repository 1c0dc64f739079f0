#include "engine/runner.h"

namespace vtower {

std::vector<ItemEmbeddings> EagerRunner::run(const RawPatches& patches, const StageTrace& trace) {
  const SeqPlan plan = make_seq_plan(tower_.config(), patches.grids());
  const TowerOutput output = tower_.encode(patches, plan, trace);
  std::vector<ItemEmbeddings> items;
  std::int64_t first = 0;
  for (const GridThw& grid : patches.grids()) {
    const std::int64_t tokens = grid.tokens(tower_.config().layout.merge_size);
    ItemEmbeddings item{grid, output.embeddings.narrow(0, first, tokens), {}};
    for (const at::Tensor& level : output.deepstack) {
      item.deepstack.push_back(level.narrow(0, first, tokens));
    }
    items.push_back(std::move(item));
    first += tokens;
  }
  return items;
}

}  // namespace vtower
