#include "engine/batch_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/doctest.h"

using namespace vtower;

namespace {

std::vector<GridThw> grids_of_rows(const std::vector<std::int64_t>& rows) {
  std::vector<GridThw> grids;
  for (const std::int64_t n : rows) grids.push_back({1, 2, n / 2});
  return grids;
}

}  // namespace

TEST_CASE("every item is in exactly one batch, within the budget or alone") {
  std::vector<std::int64_t> rows;
  std::uint32_t state = 5;
  for (int i = 0; i < 500; ++i) {
    state = state * 1664525U + 1013904223U;
    rows.push_back(4 * (1 + (state >> 20) % 800));
  }
  const BatchPlan plan = make_batch_plan(grids_of_rows(rows), 2048);
  std::vector<int> seen(rows.size());
  std::size_t last_first = 0;
  for (const Batch& batch : plan.batches) {
    std::int64_t total = 0;
    for (const std::size_t item : batch.items) {
      ++seen[item];
      total += rows[item];
    }
    CHECK(total == batch.rows);
    CHECK((total <= 2048 || batch.items.size() == 1));
    CHECK(std::is_sorted(batch.items.begin(), batch.items.end()));
    CHECK(batch.items.front() >= last_first);
    last_first = batch.items.front();
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST_CASE("best fit: the tightest room that holds an item") {
  // 60 leaves 40, 70 leaves 30: 28 goes to the 70, 36 to the 60.
  const BatchPlan plan = make_batch_plan(grids_of_rows({60, 28, 70, 36}), 100);
  REQUIRE(plan.batches.size() == 2);
  CHECK(plan.batches[0].items == std::vector<std::size_t>{0, 3});
  CHECK(plan.batches[1].items == std::vector<std::size_t>{1, 2});
}

TEST_CASE("nothing to do is no batch") {
  CHECK(make_batch_plan({}, 100).batches.empty());
}
