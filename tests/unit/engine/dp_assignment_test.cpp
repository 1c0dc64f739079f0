// Which rank gets which items: the reference's rule, and how even ours is.
#include "engine/dp_assignment.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "tower/seq_plan.h"

using namespace vtower;

namespace {

std::vector<std::size_t> flat(const DpAssignment& assignment) {
  std::vector<std::size_t> order;
  for (const auto& items : assignment.items) order.insert(order.end(), items.begin(), items.end());
  return order;
}

// Qwen2.5-VL-7B's tower.
VisionConfig published() {
  VisionConfig config;
  config.family = Family::qwen2_5_vl;
  config.depth = 32;
  config.width = 1280;
  config.heads = 16;
  config.mlp_width = 3420;
  config.out_width = 3584;
  config.layout.patch_size = 14;
  config.layout.temporal_patch_size = 2;
  config.layout.merge_size = 2;
  config.window_size = 112;
  config.full_attention_blocks = {7, 15, 23, 31};
  return config;
}

// Thumbnails, photographs, pages and clips.
std::vector<GridThw> mixed(std::size_t count, std::uint32_t seed) {
  std::vector<GridThw> grids;
  const auto next = [&](std::int64_t from, std::int64_t to) {
    seed = seed * 1664525U + 1013904223U;
    return from + static_cast<std::int64_t>((seed >> 8) % static_cast<std::uint32_t>(to - from));
  };
  for (std::size_t i = 0; i < count; ++i) {
    switch (next(0, 4)) {
      case 0: grids.push_back({1, 2 * next(2, 9), 2 * next(2, 9)}); break;
      case 1: grids.push_back({1, 2 * next(15, 40), 2 * next(15, 40)}); break;
      case 2: grids.push_back({1, 2 * next(50, 70), 2 * next(30, 50)}); break;
      default: grids.push_back({next(2, 9), 2 * next(6, 12), 2 * next(6, 12)});
    }
  }
  return grids;
}

}  // namespace

TEST_CASE("60 cases of the reference's rule") {
  const nlohmann::json golden = test::golden_json("vllm/dp_assignment.json");
  std::size_t cases = 0;
  for (const nlohmann::json& entry : golden.at("cases")) {
    std::vector<GridThw> grids;
    for (const nlohmann::json& size : entry.at("sizes")) {
      grids.push_back({1, 1, size.get<std::int64_t>()});
    }
    const DpAssignment result =
        assign_items(grids, entry.at("ranks").get<int>(), DpBalance::patches, {});
    CHECK(flat(result) == entry.at("order").get<std::vector<std::size_t>>());
    std::vector<std::size_t> counts;
    for (const auto& items : result.items) counts.push_back(items.size());
    CHECK(counts == entry.at("counts").get<std::vector<std::size_t>>());
    CHECK(result.loads == entry.at("loads").get<std::vector<double>>());
    ++cases;
  }
  CHECK(cases == 60);
}

TEST_CASE("by cost the largest load is within 2 % of the lower bound") {
  const DpCost cost = dp_cost(published());
  for (const int ranks : {8, 64}) {
    for (std::uint32_t seed = 1; seed <= 10; ++seed) {
      const std::vector<GridThw> grids = mixed(static_cast<std::size_t>(ranks) * 12, seed);
      const DpAssignment result = assign_items(grids, ranks, DpBalance::cost, cost);
      std::vector<std::size_t> order = flat(result);
      std::sort(order.begin(), order.end());
      for (std::size_t i = 0; i < grids.size(); ++i) REQUIRE(order[i] == i);
      REQUIRE(order.size() == grids.size());
      double total = 0;
      double largest = 0;
      for (const GridThw& grid : grids) {
        total += cost.of(grid);
        largest = std::max(largest, cost.of(grid));
      }
      double makespan = 0;
      for (const auto& items : result.items) {
        CHECK(std::is_sorted(items.begin(), items.end()));
        double load = 0;
        for (const std::size_t item : items) load += cost.of(grids[item]);
        makespan = std::max(makespan, load);
      }
      CAPTURE(ranks);
      CAPTURE(seed);
      CHECK(makespan <= 1.02 * std::max(total / ranks, largest));
    }
  }
}

TEST_CASE("the cost counts attention by frames: one large picture outweighs its patches") {
  const DpCost cost = dp_cost(published());
  CHECK(cost.of({1, 100, 100}) > cost.of({4, 50, 50}));
  CHECK(cost.of({4, 50, 50}) == doctest::Approx(4 * cost.of({1, 50, 50})));
  // Four blocks of full attention, 4 D operations for a pair.
  CHECK(cost.per_pair == 4.0 * 4 * 1280);
  // By hand: embedding, 32 blocks (qkv, output, three matrices), merger, 28 blocks of windows of
  // 64 rows.
  CHECK(cost.per_row == 2.0 * 1176 * 1280 + 32.0 * 2 * 1280 * (4 * 1280 + 3 * 3420) +
                            2.0 * 1280 * (4 * 1280 + 3584) + 28.0 * 4 * 1280 * 64);
  VisionConfig plain = published();
  plain.family = Family::qwen2_vl;
  CHECK(dp_cost(plain).per_pair == 32.0 * 4 * 1280);
}

TEST_CASE("fewer items than ranks, one giant, none") {
  const DpCost cost = dp_cost(published());
  for (const DpBalance balance : {DpBalance::cost, DpBalance::patches}) {
    const DpAssignment few = assign_items(std::vector<GridThw>(3, {1, 4, 4}), 8, balance, cost);
    CHECK(few.items.size() == 8);
    CHECK(flat(few).size() == 3);
    for (const auto& items : few.items) CHECK(items.size() <= 1);
    const DpAssignment none = assign_items({}, 4, balance, cost);
    CHECK(none.items.size() == 4);
    CHECK(flat(none).empty());
    std::vector<GridThw> giant(8, {1, 4, 4});
    giant[5] = {1, 200, 200};
    const DpAssignment result = assign_items(giant, 2, balance, cost);
    const auto& alone = result.items[0].size() == 1 ? result.items[0] : result.items[1];
    CHECK(alone == std::vector<std::size_t>{5});
  }
}

TEST_CASE("100,000 items on 64 ranks take no noticeable time") {
  const DpAssignment result =
      assign_items(mixed(100'000, 5), 64, DpBalance::cost, dp_cost(published()));
  const auto [least, most] = std::minmax_element(result.loads.begin(), result.loads.end());
  CHECK(*most <= 1.001 * *least);
}
