#include "cli/bench_packing.h"

#include <cmath>
#include <random>

#include "cli/default_ladder.h"
#include "core/error.h"
#include "engine/reference_packing.h"
#include "media/smart_resize.h"

namespace vtower::cli {
namespace {

constexpr PatchLayout layout{14, 2, 2};
constexpr PixelLimits limits{3136, 12'845'056};
constexpr int pictures = 512;

std::vector<GridThw> mixed_grids() {
  std::mt19937 random(1);
  const auto side = [&] {
    const double share = static_cast<double>(random()) / 4294967296.0;
    return static_cast<std::int64_t>(std::lround(224.0 * std::pow(1500.0 / 224.0, share)));
  };
  std::vector<GridThw> grids;
  for (int i = 0; i < pictures; ++i) {
    const std::int64_t height = side();
    const ImageSize size = smart_resize_frame({height, side()}, layout.factor(), limits);
    grids.push_back({1, size.height / layout.patch_size, size.width / layout.patch_size});
  }
  return grids;
}

struct Use {
  std::int64_t useful = 0;
  std::int64_t computed = 0;
  std::size_t batches = 0;

  void add(std::int64_t rows, std::int64_t budget) {
    useful += rows;
    computed += budget;
    ++batches;
  }
  [[nodiscard]] Json json() const {
    return {{"useful_share", static_cast<double>(useful) / static_cast<double>(computed)},
            {"batches", batches}};
  }
};

Use ours(std::span<const GridThw> grids, std::int64_t pack_rows) {
  const BudgetLadder ladder = default_ladder(layout);
  Use use;
  for (const Batch& batch : make_batch_plan(grids, pack_rows).batches) {
    use.add(batch.rows, *ladder.smallest_for(batch.rows));
  }
  return use;
}

// The reference with the same room: budgets count tokens there.
Use control(std::span<const GridThw> grids, std::int64_t pack_rows, bool one_by_one) {
  ReferenceBudgetRequest request;
  request.largest = pack_rows / (layout.merge_size * layout.merge_size);
  if (one_by_one) request.user_items = 1;
  const ReferenceBudgets budgets = reference_budgets(request);
  std::vector<std::int64_t> tokens;
  for (const GridThw& grid : grids) tokens.push_back(grid.tokens(layout.merge_size));
  Use use;
  for (const ReferenceBatch& batch : pack_as_reference(tokens, budgets)) {
    use.add(batch.tokens, batch.budget.value_or(batch.tokens));
  }
  return use;
}

}  // namespace

Json bench_packing() {
  const std::vector<GridThw> grids = mixed_grids();
  const std::int64_t pack_rows = default_pack_rows();
  return {
      {"axis", "packing"},
      {"input", "512 pictures, sides log-uniform 224 to 1500 px"},
      {"packed",
       {{"ours", ours(grids, pack_rows).json()},
        {"reference", control(grids, pack_rows, false).json()}}},
      {"singles",
       {{"ours", ours(grids, 1).json()}, {"reference", control(grids, pack_rows, true).json()}}}};
}

}  // namespace vtower::cli
