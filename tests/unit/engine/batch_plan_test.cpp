#include "engine/batch_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/item_headers.h"
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

TEST_CASE("headers are sorted once; plans of some items have the indices of the request") {
  const auto sound = [](std::int64_t rows) {
    return HeaderResult(ItemHeader{ItemKind::image, {1, 2, rows / 2}});
  };
  const auto failed = [](const char* path) {
    return HeaderResult(ItemFailure{path, ErrorKind::truncated, "cut"});
  };
  const SortedHeaders sorted =
      sort_headers({failed("a"), sound(60), sound(28), failed("d"), sound(70), sound(36)});
  CHECK(sorted.sound == std::vector<std::size_t>{1, 2, 4, 5});
  CHECK((sorted.grids == grids_of_rows({60, 28, 70, 36})));
  REQUIRE(sorted.failed.size() == 2);
  CHECK(sorted.failed[0].first == 0);
  CHECK(sorted.failed[1].first == 3);
  CHECK(sorted.failed[1].second.path == "d");

  const BatchPlan all = plan_of(sorted, {0, 1, 2, 3}, 100);
  REQUIRE(all.batches.size() == 2);
  CHECK(all.max_rows == 100);
  CHECK(all.batches[0].items == std::vector<std::size_t>{1, 5});
  CHECK(all.batches[1].items == std::vector<std::size_t>{2, 4});
  const BatchPlan some = plan_of(sorted, {1, 3}, 100);
  REQUIRE(some.batches.size() == 1);
  CHECK(some.batches[0].items == std::vector<std::size_t>{2, 5});
  CHECK(some.batches[0].rows == 64);
  CHECK(plan_of(sorted, {}, 100).batches.empty());
}
