#include "engine/split_output.h"

namespace vtower {

std::vector<ItemEmbeddings> split_output(const TowerOutput& output, std::span<const GridThw> grids,
                                         std::int64_t merge_size, Ownership ownership) {
  std::vector<ItemEmbeddings> items;
  std::int64_t first = 0;
  for (const GridThw& grid : grids) {
    const std::int64_t tokens = grid.tokens(merge_size);
    const auto rows = [&](const at::Tensor& all) {
      const at::Tensor part = all.narrow(0, first, tokens);
      return ownership == Ownership::copy ? part.clone() : part;
    };
    ItemEmbeddings item{grid, rows(output.embeddings), {}};
    for (const at::Tensor& level : output.deepstack) item.deepstack.push_back(rows(level));
    items.push_back(std::move(item));
    first += tokens;
  }
  return items;
}

}  // namespace vtower
