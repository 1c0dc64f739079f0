// Eager, graph-plan and graph on a GPU: the same bits on the same padded plan, and no batch leaves
// anything behind for the next.
#include <ATen/ops/isfinite.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "engine/encode_items.h"
#include "engine/graph_runner.h"
#include "support/doctest.h"
#include "support/overflow.h"
#include "support/towers.h"

using namespace vtower;

namespace {

BudgetLadder ladder() {
  return BudgetLadder({64, 128, 256, 512, 1024, 2048}, 4);
}

VisionTower on_gpu(const std::string& family, DType dtype) {
  return test::tiny_tower(family, {dtype, c10::kCUDA});
}

bool all_finite(const std::vector<ItemEmbeddings>& items) {
  for (const ItemEmbeddings& item : items) {
    if (!at::isfinite(item.embeddings).all().item<bool>()) return false;
    for (const at::Tensor& level : item.deepstack) {
      if (!at::isfinite(level).all().item<bool>()) return false;
    }
  }
  return true;
}

void check_modes(DType dtype, double limit) {
  for (const std::string& family : test::families) {
    CAPTURE(family);
    const VisionTower tower = on_gpu(family, dtype);
    EagerRunner eager(tower);
    GraphPlanRunner plan(tower, ladder(), Poison::on);
    GraphRecord record;
    const std::unique_ptr<Runner> graph = make_graph_runner(tower, {ladder(), Poison::on}, record);
    for (const std::vector<GridThw>& grids : test::mixed_grids) {
      const RawPatches patches = test::noise_patches(tower.config().layout, grids, 21);
      const auto replayed = graph->run(patches, StageTrace());
      CHECK(test::same_bits(replayed, plan.run(patches, StageTrace())));
      CHECK(test::largest_error(replayed, eager.run(patches, StageTrace())) <= limit);
    }
    CHECK(record.static_pixel_bytes == 1);
    CHECK(record.nodes > 0);
    CHECK(record.replays == static_cast<std::int64_t>(test::mixed_grids.size()));
  }
}

std::int64_t allocated_bytes() {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(0).reserved_bytes[0].current;
}

}  // namespace

// Cases of one dtype say so in their names: scripts/sanitize-gpu picks those of fp32.
TEST_CASE("gpu, fp32: graph has the bits of graph-plan, and both agree with eager") {
  check_modes(DType::f32, 4e-6);
}

TEST_CASE("gpu, fp16: graph has the bits of graph-plan, and both agree with eager") {
  check_modes(DType::f16, 4e-3);
}

TEST_CASE("gpu, bf16: graph has the bits of graph-plan, and both agree with eager") {
  check_modes(DType::bf16, 3e-2);
}

TEST_CASE("gpu: 2,000 mixed replays with poison: no NaN, no drift, no growth") {
  for (const std::string& family : test::families) {
    const VisionTower tower = on_gpu(family, DType::bf16);
    GraphRecord record;
    const std::unique_ptr<Runner> graph = make_graph_runner(tower, {ladder(), Poison::on}, record);
    std::vector<RawPatches> inputs;
    std::vector<std::vector<ItemEmbeddings>> first;
    for (std::size_t i = 0; i < test::mixed_grids.size(); ++i) {
      inputs.push_back(test::noise_patches(tower.config().layout, test::mixed_grids[i],
                                           static_cast<std::uint32_t>(i + 1)));
      first.push_back(graph->run(inputs.back(), StageTrace()));
      CHECK(all_finite(first.back()));
    }
    const std::int64_t before = allocated_bytes();
    std::uint32_t state = 9;
    for (int replay = 0; replay < 2000; ++replay) {
      state = state * 1664525U + 1013904223U;
      const std::size_t i = (state >> 16) % inputs.size();
      REQUIRE(test::same_bits(graph->run(inputs[i], StageTrace()), first[i]));
    }
    CHECK(allocated_bytes() <= before);
  }
}

TEST_CASE("gpu R75: many small after one large under one key, and the reverse") {
  for (const std::string& family : test::families) {
    const VisionTower tower = on_gpu(family, DType::bf16);
    EagerRunner eager(tower);
    for (const bool small_first : {true, false}) {
      GraphRecord record;
      const std::unique_ptr<Runner> graph =
          make_graph_runner(tower, {BudgetLadder({1024}, 4), Poison::on}, record);
      const std::vector<std::vector<GridThw>> batches{
          std::vector<GridThw>(16, GridThw{1, 8, 8}), {{1, 32, 32}}, {{16, 8, 8}}};
      for (std::size_t k = 0; k < batches.size(); ++k) {
        const RawPatches patches = test::noise_patches(
            tower.config().layout, batches[small_first ? k : batches.size() - 1 - k], 5);
        CHECK(test::largest_error(graph->run(patches, StageTrace()),
                                  eager.run(patches, StageTrace())) <= 3e-2);
      }
    }
  }
}

TEST_CASE("gpu: graphs make room for each other") {
  const VisionTower tower = on_gpu("qwen2_5_vl", DType::bf16);
  GraphRecord record;
  GraphOptions options{ladder(), Poison::off};
  options.most_graphs = 2;
  const std::unique_ptr<Runner> graph = make_graph_runner(tower, options, record);
  GraphPlanRunner plan(tower, ladder(), Poison::off);
  for (int round = 0; round < 3; ++round) {
    for (const std::vector<GridThw>& grids : test::mixed_grids) {
      const RawPatches patches = test::noise_patches(tower.config().layout, grids, 2);
      CHECK(test::same_bits(graph->run(patches, StageTrace()), plan.run(patches, StageTrace())));
    }
  }
  CHECK(record.dropped > 0);
}

TEST_CASE("gpu: a graph shows no stages and says so") {
  const VisionTower tower = on_gpu("qwen2_vl", DType::bf16);
  GraphRecord record;
  const std::unique_ptr<Runner> graph = make_graph_runner(tower, {ladder()}, record);
  const RawPatches patches = test::noise_patches(tower.config().layout, {{1, 4, 4}}, 1);
  CHECK_THROWS_AS((void)graph->run(patches, StageTrace([](const auto&, const auto&) {})), Error);
}

TEST_CASE("gpu R87: an item that leaves fp16's range in a graph fails alone, naming the stage") {
  const VisionTower tower = test::steep_tower({DType::f16, c10::kCUDA});
  const std::vector<GridThw> grids{{1, 4, 4}, {1, 2, 6}, {1, 30, 34}, {1, 4, 4}};
  const test::NoiseAndGrey source(tower.config().layout, grids);
  EncodeOptions options;
  options.max_batch_rows = 2048;  // all in one batch
  GraphRecord record;
  const std::unique_ptr<Runner> graph = make_graph_runner(tower, {ladder(), Poison::on}, record);
  GraphPlanRunner plan(tower, ladder(), Poison::on);
  for (Runner* runner : std::initializer_list<Runner*>{graph.get(), &plan}) {
    const EncodeResult result = encode_items(source, *runner, options);
    CHECK(result.plan.batches.size() == 1);
    for (std::size_t i = 0; i < grids.size(); ++i) {
      CAPTURE(i);
      const auto* failure = std::get_if<ItemFailure>(&result.items[i]);
      REQUIRE((failure != nullptr) == (i % 2 == 0));  // noise failed, grey did not
      if (failure == nullptr) continue;
      CHECK(failure->kind == ErrorKind::out_of_range);
      CHECK(failure->message.find("first in stage patch_embed") != std::string::npos);
    }
  }
  CHECK(record.captures == 1);  // none for the search
  CHECK(record.replays == 1);
  // The graph is as it was.
  const RawPatches grey = test::grey_patches(tower.config().layout, {1, 30, 34});
  CHECK(test::same_bits(graph->run(grey, StageTrace()), plan.run(grey, StageTrace())));
}

TEST_CASE("gpu: what is captured ahead is not captured again") {
  const VisionTower tower = on_gpu("qwen2_5_vl", DType::bf16);
  GraphRecord record;
  const std::unique_ptr<Runner> graph = make_graph_runner(tower, {ladder()}, record);
  GraphPlanRunner plan(tower, ladder(), Poison::off);
  graph->prepare(test::mixed_grids);
  const std::int64_t captures = record.captures;
  CHECK(captures > 0);
  CHECK(record.replays == 0);
  for (const std::vector<GridThw>& grids : test::mixed_grids) {
    const RawPatches patches = test::noise_patches(tower.config().layout, grids, 8);
    CHECK(test::same_bits(graph->run(patches, StageTrace()), plan.run(patches, StageTrace())));
  }
  CHECK(record.captures == captures);
}

TEST_CASE("gpu: above the memory allowed all graphs go, one that is too large alone is refused") {
  const VisionTower tower = on_gpu("qwen2_vl", DType::bf16);
  const RawPatches small = test::noise_patches(tower.config().layout, {{1, 4, 4}}, 1);
  const RawPatches large = test::noise_patches(tower.config().layout, {{1, 32, 32}}, 2);
  GraphRecord measured;
  const std::unique_ptr<Runner> roomy = make_graph_runner(tower, {ladder()}, measured);
  const auto expected = roomy->run(large, StageTrace());
  CHECK(measured.pool_bytes > 0);
  CHECK(measured.buffer_bytes > large.rows() * large.row_width());

  GraphRecord record;
  GraphOptions options{ladder()};
  options.most_bytes = measured.pool_bytes + measured.buffer_bytes;  // the large one and no other
  const std::unique_ptr<Runner> tight = make_graph_runner(tower, options, record);
  for (int round = 0; round < 3; ++round) {
    (void)tight->run(small, StageTrace());
    CHECK(test::same_bits(tight->run(large, StageTrace()), expected));
  }
  CHECK(record.restarts > 0);

  options.most_bytes = 1;
  GraphRecord refused;
  const std::unique_ptr<Runner> none = make_graph_runner(tower, options, refused);
  CHECK_THROWS_WITH_AS((void)none->run(small, StageTrace()), doctest::Contains("--graph-memory"),
                       Error);
}

TEST_CASE("gpu: other threads use the GPU while graphs are captured") {
  const VisionTower tower = on_gpu("qwen3_vl", DType::bf16);
  const RawPatches other = test::noise_patches(tower.config().layout, {{1, 16, 16}}, 3);
  EagerRunner alone(tower);
  const auto expected = alone.run(other, StageTrace());
  std::atomic<bool> done{false};
  std::atomic<int> rounds{0};
  std::atomic<int> equal{0};
  std::jthread neighbour([&] {
    EagerRunner eager(tower);
    while (!done) {
      equal += test::same_bits(eager.run(other, StageTrace()), expected) ? 1 : 0;
      ++rounds;
    }
  });
  while (rounds == 0) std::this_thread::yield();
  GraphPlanRunner plan(tower, ladder(), Poison::off);
  for (int round = 0; round < 3; ++round) {
    GraphRecord record;
    const std::unique_ptr<Runner> graph = make_graph_runner(tower, {ladder()}, record);
    for (const std::vector<GridThw>& grids : test::mixed_grids) {
      const RawPatches patches = test::noise_patches(tower.config().layout, grids, 9);
      CHECK(test::same_bits(graph->run(patches, StageTrace()), plan.run(patches, StageTrace())));
    }
  }
  done = true;
  neighbour.join();
  CHECK(rounds > 1);
  CHECK(equal == rounds);
}
