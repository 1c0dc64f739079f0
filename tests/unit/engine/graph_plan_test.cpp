// The padded plan against the true one, on the CPU: padding never reaches an item.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/graph_plan_runner.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"

using namespace vtower;

namespace {

const std::vector<std::string> families{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"};

VisionTower tiny(const std::string& family, DType dtype = DType::f32) {
  return VisionTower::load(
      Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-fp32")),
      {dtype, c10::kCPU});
}

RawPatches noise(const PatchLayout& layout, std::vector<GridThw> grids, std::uint32_t seed) {
  std::int64_t rows = 0;
  for (const GridThw& grid : grids) rows += grid.patches();
  ByteBuffer bytes(static_cast<std::size_t>(rows * layout.row_width()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    bytes.data()[i] = static_cast<std::uint8_t>(seed >> 24);
  }
  return RawPatches::from_rows(std::move(bytes), std::move(grids), layout);
}

BudgetLadder ladder() {
  return BudgetLadder({64, 128, 256, 512, 1024}, 4);
}

void check_same(const std::vector<ItemEmbeddings>& a, const std::vector<ItemEmbeddings>& b,
                double limit) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(test::relative_error(a[i].embeddings, b[i].embeddings) <= limit);
    REQUIRE(a[i].deepstack.size() == b[i].deepstack.size());
    for (std::size_t j = 0; j < a[i].deepstack.size(); ++j) {
      CHECK(test::relative_error(a[i].deepstack[j], b[i].deepstack[j]) <= limit);
    }
  }
}

bool same_bits(const std::vector<ItemEmbeddings>& a, const std::vector<ItemEmbeddings>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].embeddings.equal(b[i].embeddings)) return false;
    for (std::size_t j = 0; j < a[i].deepstack.size(); ++j) {
      if (!a[i].deepstack[j].equal(b[i].deepstack[j])) return false;
    }
  }
  return a.size() == b.size();
}

const std::vector<std::vector<GridThw>> mixes{{{1, 2, 2}},
                                              {{1, 8, 8}},
                                              {{1, 6, 10}},
                                              {{2, 6, 10}, {1, 18, 2}},
                                              {{1, 2, 2}, {1, 16, 16}},
                                              {{3, 4, 4}, {1, 2, 30}, {1, 10, 6}},
                                              {{1, 30, 34}}};

}  // namespace

TEST_CASE("graph-plan agrees with eager on the true shape") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny(family);
    EagerRunner eager(tower);
    GraphPlanRunner padded(tower, ladder(), Poison::on);
    for (const std::vector<GridThw>& grids : mixes) {
      CAPTURE(family);
      const RawPatches patches = noise(tower.config().layout, grids, 3);
      check_same(padded.run(patches, StageTrace()), eager.run(patches, StageTrace()), 4e-6);
    }
    CHECK(padded.padding().padded_rows > padded.padding().item_rows);
  }
}

TEST_CASE("graph-plan has the bits of a direct call on the same padded plan") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny(family);
    GraphPlanRunner padded(tower, ladder(), Poison::off);
    for (const std::vector<GridThw>& grids : mixes) {
      const RawPatches patches = noise(tower.config().layout, grids, 4);
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
    const VisionTower tower = tiny(family);
    GraphPlanRunner padded(tower, ladder(), Poison::on);
    std::vector<RawPatches> inputs;
    std::vector<std::vector<ItemEmbeddings>> first;
    for (std::size_t i = 0; i < mixes.size(); ++i) {
      inputs.push_back(noise(tower.config().layout, mixes[i], static_cast<std::uint32_t>(i + 1)));
      first.push_back(padded.run(inputs.back(), StageTrace()));
    }
    std::uint32_t state = 9;
    for (int replay = 0; replay < 670; ++replay) {
      state = state * 1664525U + 1013904223U;
      const std::size_t i = (state >> 16) % mixes.size();
      REQUIRE(same_bits(padded.run(inputs[i], StageTrace()), first[i]));
    }
  }
}

TEST_CASE("equal totals with other boundaries, growing and shrinking") {
  for (const std::string& family : families) {
    const VisionTower tower = tiny(family);
    EagerRunner eager(tower);
    GraphPlanRunner padded(tower, ladder(), Poison::on);
    const std::vector<std::vector<GridThw>> same_total{
        {{1, 8, 16}}, {{2, 8, 8}}, {{1, 8, 8}, {1, 8, 8}}, {{8, 4, 4}}, {{1, 2, 64}}, {{1, 8, 16}}};
    for (const std::vector<GridThw>& grids : same_total) {
      const RawPatches patches = noise(tower.config().layout, grids, 6);
      check_same(padded.run(patches, StageTrace()), eager.run(patches, StageTrace()), 4e-6);
    }
    const RawPatches canary = noise(tower.config().layout, {{1, 4, 6}}, 7);
    const std::vector<ItemEmbeddings> before = padded.run(canary, StageTrace());
    for (const std::int64_t side : {2, 8, 16, 30, 16, 8, 2}) {
      (void)padded.run(noise(tower.config().layout, {{1, side, side}}, 8), StageTrace());
      CHECK(same_bits(padded.run(canary, StageTrace()), before));
    }
  }
}

TEST_CASE("an item above the largest budget is an error that names the options") {
  const VisionTower tower = tiny("qwen2_vl");
  GraphPlanRunner padded(tower, BudgetLadder({64}, 4), Poison::off);
  try {
    (void)padded.run(noise(tower.config().layout, {{1, 10, 10}}, 1), StageTrace());
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::too_large);
    CHECK(error.message().find("--oversize") != std::string::npos);
  }
}

TEST_CASE("a plan that does not fit its buffers is refused") {
  const VisionTower tower = tiny("qwen2_5_vl");
  const RawPatches patches = noise(tower.config().layout, {{1, 6, 10}}, 1);
  const SeqPlan plan = make_seq_plan(tower.config(), patches.grids());
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {56, 4, 4}), Error);
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {66, 4, 4}), Error);
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {64, 1, 4}), Error);
  CHECK_THROWS_AS((void)pad_seq_plan(tower.config(), plan, {64, 4, 2}), Error);
  StagedInputs inputs(tower.config(), {64, 4, 4}, 64, tower.placement());
  CHECK_THROWS_AS(inputs.fill(patches, plan), Error);
}
