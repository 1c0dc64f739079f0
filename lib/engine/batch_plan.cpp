#include "engine/batch_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace vtower {

BatchPlan make_batch_plan(std::span<const GridThw> grids, std::int64_t max_rows) {
  std::vector<std::size_t> order(grids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return grids[a].patches() > grids[b].patches();
  });
  BatchPlan plan{max_rows, {}};
  std::multimap<std::int64_t, std::size_t> room;  // rows left -> batch
  for (const std::size_t item : order) {
    const std::int64_t rows = grids[item].patches();
    const auto tightest = room.lower_bound(rows);
    std::size_t batch = plan.batches.size();
    std::int64_t left = max_rows - rows;
    if (tightest == room.end()) {
      plan.batches.emplace_back();
    } else {
      batch = tightest->second;
      left = tightest->first - rows;
      room.erase(tightest);
    }
    if (left > 0) room.emplace(left, batch);
    plan.batches[batch].items.push_back(item);
    plan.batches[batch].rows += rows;
  }
  for (Batch& batch : plan.batches) std::sort(batch.items.begin(), batch.items.end());
  std::sort(plan.batches.begin(), plan.batches.end(),
            [](const Batch& a, const Batch& b) { return a.items.front() < b.items.front(); });
  return plan;
}

}  // namespace vtower
