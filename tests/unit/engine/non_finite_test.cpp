// An item whose tokens are no numbers fails alone, in every runner, and its message says where.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <new>

#include "engine/encode_items.h"
#include "engine/graph_plan_runner.h"
#include "support/doctest.h"
#include "support/overflow.h"

using namespace vtower;

namespace {

const std::vector<GridThw> grids{{1, 4, 4}, {1, 2, 6}, {1, 6, 6}, {1, 4, 4}};
const PatchLayout layout{14, 2, 2};

std::vector<ItemResult> encode(Runner& runner, const PatchLayout& of = layout) {
  EncodeOptions options;
  options.max_batch_rows = 4096;  // all in one batch
  return encode_items(test::NoiseAndGrey(of, grids), runner, options).items;
}

// Even items failed with this in their messages, odd ones did not.
void check_results(const std::vector<ItemResult>& items, const std::string& expected) {
  REQUIRE(items.size() == grids.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    CAPTURE(i);
    const auto* failure = std::get_if<ItemFailure>(&items[i]);
    REQUIRE((failure != nullptr) == (i % 2 == 0));
    if (failure == nullptr) continue;
    CHECK(failure->path == "item " + std::to_string(i));
    CHECK(failure->kind == ErrorKind::out_of_range);
    CHECK(failure->message.find("[tower] NaN or infinite values, " + expected + ";") == 0);
    CHECK(failure->message.find("--dtype bf16") != std::string::npos);
  }
}

// Refuses to show stages in run(), as captured graphs do; every other item comes out as NaN.
class Blind final : public Runner {
 public:
  explicit Blind(std::function<StageSearch()> search) : search_(std::move(search)) {}

  std::vector<ItemEmbeddings> run(const RawPatches& patches, const StageTrace& trace) override {
    if (trace.active()) throw Error(ErrorKind::usage, "blind", "stages cannot be seen");
    std::vector<ItemEmbeddings> items;
    for (const GridThw& grid : patches.grids()) {
      const double value = items.size() % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
      items.push_back({grid, at::full({grid.patches() / 4, 3}, value), {}});
    }
    return items;
  }
  StageSearch find_non_finite(const RawPatches& patches) override {
    CHECK(patches.grids().size() == 1);
    return search_();
  }

 private:
  std::function<StageSearch()> search_;
};

}  // namespace

TEST_CASE("a runner that shows no stages does not end the run") {
  SUBCASE("found") {
    Blind runner([] { return StageSearch{"block.3.attn", "alone"}; });
    check_results(encode(runner), "first in stage block.3.attn");
  }
  SUBCASE("not found") {
    Blind runner([] { return StageSearch{std::nullopt, "alone, uncaptured"}; });
    check_results(encode(runner), "though not when the item runs alone, uncaptured");
  }
}

TEST_CASE("a search that fails does not end the run either") {
  SUBCASE("refused") {
    Blind runner([]() -> StageSearch { throw Error(ErrorKind::usage, "graph", "no stages"); });
    check_results(encode(runner), "in a stage that could not be found: [graph] no stages");
  }
  SUBCASE("out of memory") {
    Blind runner([]() -> StageSearch { throw std::bad_alloc(); });
    check_results(encode(runner), "in a stage that could not be found: std::bad_alloc");
  }
}

TEST_CASE("R87: eager and graph-plan name the stage in which fp16 ended, and count no search") {
  const VisionTower tower = test::steep_tower({DType::f16, c10::kCPU});
  EagerRunner eager(tower);
  check_results(encode(eager, tower.config().layout), "first in stage patch_embed");
  CHECK(eager.ledger().passes == 1);
  GraphPlanRunner padded(tower, BudgetLadder({64, 128, 256}, 4), Poison::on);
  check_results(encode(padded, tower.config().layout), "first in stage patch_embed");
  CHECK(padded.ledger().passes == 1);
  CHECK(padded.padding().hits.size() == 1);
}

TEST_CASE("what padding holds behind the items is not looked at") {
  const RawPatches patches = test::grey_patches(layout, {1, 4, 4});
  const auto stage_with = [&](const std::string& stage, std::int64_t rows, std::int64_t nan_row) {
    at::Tensor value = at::zeros({rows, 2});
    value[nan_row].fill_(std::numeric_limits<float>::quiet_NaN());
    NonFiniteWatch watch(patches);
    watch.trace()(stage, value);
    return watch.first();
  };
  CHECK(stage_with("block.0", 64, 15) == "block.0");
  CHECK(stage_with("block.0", 64, 16) == std::nullopt);
  CHECK(stage_with("deepstack.1", 16, 3) == "deepstack.1");
  CHECK(stage_with("merger", 16, 4) == std::nullopt);
}
