// The padded plan against the true one, on the CPU: padding never reaches an item.
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "engine/graph_plan_runner.h"
#include "support/doctest.h"
#include "support/towers.h"

using namespace vtower;
using test::families;
using test::mixed_grids;
using test::noise_patches;
using test::same_bits;
using test::tiny_tower;

namespace {

BudgetLadder ladder() {
  return BudgetLadder({64, 128, 256, 512, 1024}, 4);
}

}  // namespace

TEST_CASE("graph-plan agrees with eager on the true shape") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny_tower(family);
    EagerRunner eager(tower);
    GraphPlanRunner padded(tower, ladder(), Poison::on);
    for (const std::vector<GridThw>& grids : mixed_grids) {
      CAPTURE(family);
      const RawPatches patches = noise_patches(tower.config().layout, grids, 3);
      CHECK(test::largest_error(padded.run(patches, StageTrace()),
                                eager.run(patches, StageTrace())) <= 4e-6);
    }
    CHECK(padded.padding().padded_rows > padded.padding().item_rows);
  }
}

TEST_CASE("graph-plan has the bits of a direct call on the same padded plan") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny_tower(family);
    GraphPlanRunner padded(tower, ladder(), Poison::off);
    for (const std::vector<GridThw>& grids : mixed_grids) {
      const RawPatches patches = noise_patches(tower.config().layout, grids, 4);
      SeqPlan plan = make_seq_plan(tower.config(), patches.grids());
      const CaptureKey key = capture_key(tower.config(), plan, ladder());
      plan = pad_seq_plan(tower.config(), plan, key.capacity);
      const TowerOutput direct = tower.encode(patches.padded(plan.rows, 0), plan);
      const std::vector<ItemEmbeddings> items = padded.run(patches, StageTrace());
      std::int64_t first = 0;
      for (const ItemEmbeddings& item : items) {
        const std::int64_t tokens = item.embeddings.size(0);
        CHECK(item.embeddings.equal(direct.embeddings.narrow(0, first, tokens)));
        first += tokens;
      }
    }
  }
}

TEST_CASE("R73, R74: 2,000 replays of any size with poison do not drift") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny_tower(family);
    GraphPlanRunner padded(tower, ladder(), Poison::on);
    std::vector<RawPatches> inputs;
    std::vector<std::vector<ItemEmbeddings>> first;
    for (std::size_t i = 0; i < mixed_grids.size(); ++i) {
      inputs.push_back(
          noise_patches(tower.config().layout, mixed_grids[i], static_cast<std::uint32_t>(i + 1)));
      first.push_back(padded.run(inputs.back(), StageTrace()));
    }
    std::uint32_t state = 9;
    for (int replay = 0; replay < 670; ++replay) {
      state = state * 1664525U + 1013904223U;
      const std::size_t i = (state >> 16) % mixed_grids.size();
      REQUIRE(same_bits(padded.run(inputs[i], StageTrace()), first[i]));
    }
  }
}

TEST_CASE("equal totals with other boundaries, growing and shrinking") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny_tower(family);
    EagerRunner eager(tower);
    GraphPlanRunner padded(tower, ladder(), Poison::on);
    const std::vector<std::vector<GridThw>> same_total{
        {{1, 8, 16}}, {{2, 8, 8}}, {{1, 8, 8}, {1, 8, 8}}, {{8, 4, 4}}, {{1, 2, 64}}, {{1, 8, 16}}};
    for (const std::vector<GridThw>& grids : same_total) {
      const RawPatches patches = noise_patches(tower.config().layout, grids, 6);
      CHECK(test::largest_error(padded.run(patches, StageTrace()),
                                eager.run(patches, StageTrace())) <= 4e-6);
    }
    const RawPatches canary = noise_patches(tower.config().layout, {{1, 4, 6}}, 7);
    const std::vector<ItemEmbeddings> before = padded.run(canary, StageTrace());
    for (const std::int64_t side : {2, 8, 16, 30, 16, 8, 2}) {
      (void)padded.run(noise_patches(tower.config().layout, {{1, side, side}}, 8), StageTrace());
      CHECK(same_bits(padded.run(canary, StageTrace()), before));
    }
  }
}

TEST_CASE("an item above the largest budget is an error that names the options") {
  const VisionTower tower = tiny_tower("qwen2_vl");
  GraphPlanRunner padded(tower, BudgetLadder({64}, 4), Poison::off);
  try {
    (void)padded.run(noise_patches(tower.config().layout, {{1, 10, 10}}, 1), StageTrace());
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::too_large);
    CHECK(error.message().find("--oversize") != std::string::npos);
  }
}

TEST_CASE("a plan that does not fit its buffers is refused") {
  const VisionTower tower = tiny_tower("qwen2_5_vl");
  const RawPatches patches = noise_patches(tower.config().layout, {{1, 6, 10}}, 1);
  const SeqPlan plan = make_seq_plan(tower.config(), patches.grids());
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {56, 4, 4}), Error);
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {66, 4, 4}), Error);
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {64, 1, 4}), Error);
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {64, 4, 2}), Error);
  StagedInputs inputs(tower.config(), {64, 4, 4}, 64, tower.placement());
  CHECK_THROWS_AS(inputs.fill(patches, plan), Error);
}
