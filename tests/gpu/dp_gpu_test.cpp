// Data parallel between GPUs: each rank is a thread with a tower, a store and a link of its own.
#include <ATen/Context.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "engine/dp_encode.h"
#include "support/doctest.h"
#include "support/towers.h"

using namespace vtower;
using namespace std::chrono_literals;

namespace {

const std::vector<GridThw> grids{{1, 8, 6}, {2, 12, 10}, {1, 2, 2}, {1, 30, 34}, {1, 16, 16}};

class Noise final : public ItemSource {
 public:
  explicit Noise(const PatchLayout& layout) : layout_(layout) {}
  [[nodiscard]] std::size_t size() const override { return grids.size(); }
  [[nodiscard]] std::variant<ItemHeader, ItemFailure> header(std::size_t i) const override {
    return ItemHeader{ItemKind::raw, grids[i]};
  }
  [[nodiscard]] std::variant<LoadedItem, ItemFailure> load(std::size_t i) const override {
    return LoadedItem{patches(i), {}};
  }
  [[nodiscard]] RawPatches patches(std::size_t i) const {
    return test::noise_patches(layout_, {grids[i]}, static_cast<std::uint32_t>(i + 1));
  }

 private:
  PatchLayout layout_;
};

DpWork work_on(const Placement& placement) {
  const auto tower = std::make_shared<VisionTower>(test::tiny_tower("qwen3_vl", placement));
  DpWork work;
  work.config = tower->config();
  work.placement = placement;
  work.max_batch_rows = 1;  // each item alone
  work.source = std::make_shared<Noise>(work.config.layout);
  work.paths.resize(grids.size(), "noise");
  auto* runner = new EagerRunner(*tower);
  work.runner = {runner, [tower](Runner* made) { delete made; }};
  return work;
}

struct Run {
  DpResult result;
  DpBackend backend = DpBackend::gloo;
  std::string refusal;
};

// Rank r runs on the GPU devices[r].
Run run(const std::vector<int>& devices, GpuSharing sharing) {
  DpStore store({"127.0.0.1", 0, DpStoreRole::server, "t/"}, 60s);
  const std::uint16_t port = store.port();
  const auto size = static_cast<int>(devices.size());
  const auto on = [&](int rank) {
    return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(devices[rank]));
  };
  std::vector<std::jthread> others;
  for (int rank = 1; rank < size; ++rank) {
    others.emplace_back([&, rank] {
      DpGroup group({rank, size}, DpStore({"127.0.0.1", port, DpStoreRole::client, "t/"}, 60s),
                    nullptr);
      if (group.meet({"here", "1", on(rank), sharing, {}})) return;
      group.connect();
      (void)dp_follow(group, [&on, rank] { return work_on({DType::bf16, on(rank)}); }, {});
    });
  }
  Run run;
  DpGroup group({0, size}, std::move(store), nullptr);
  try {
    (void)group.meet({"here", "1", on(0), sharing, {}});
    group.connect();
    run.backend = group.backend();
    run.result = dp_lead(group, [&on] { return work_on({DType::bf16, on(0)}); }, {});
  } catch (const Error& error) {
    run.refusal = error.what();
  }
  group.finish(0);
  return run;
}

void check_bits(const Run& run) {
  REQUIRE(run.refusal == "");
  CHECK(run.result.lost.empty());
  const VisionTower tower = test::tiny_tower("qwen3_vl", {DType::bf16, c10::Device(c10::kCUDA, 0)});
  EagerRunner eager(tower);
  const Noise noise(tower.config().layout);
  REQUIRE(run.result.items.size() == grids.size());
  for (std::size_t i = 0; i < grids.size(); ++i) {
    CAPTURE(i);
    const auto* item = std::get_if<EncodedItem>(&run.result.items[i]);
    REQUIRE(item != nullptr);
    ItemEmbeddings alone = eager.run(noise.patches(i), StageTrace()).front();
    CHECK(item->embeddings.embeddings.cpu().equal(alone.embeddings.cpu()));
    REQUIRE(item->embeddings.deepstack.size() == alone.deepstack.size());
    for (std::size_t j = 0; j < alone.deepstack.size(); ++j) {
      CHECK(item->embeddings.deepstack[j].cpu().equal(alone.deepstack[j].cpu()));
    }
  }
}

}  // namespace

TEST_CASE("ranks on GPUs of their own talk by NCCL and have the bits of eager") {
  const auto gpus = static_cast<int>(at::getNumGPUs());
  if (gpus < 2) {
    MESSAGE("one GPU here: NCCL between two was not tried");
    return;
  }
  std::vector<int> devices;
  for (int i = 0; i < std::min(gpus, 8); ++i) devices.push_back(i);  // more ranks than items too
  const Run done = run(devices, GpuSharing::refused);
  CHECK(done.backend == DpBackend::nccl);
  check_bits(done);
}

TEST_CASE("R82: two ranks on one GPU are refused at once; where asked for, they talk by Gloo") {
  const Run refused = run({0, 0}, GpuSharing::refused);
  CHECK(refused.refusal.find("ranks 0 and 1 of 2") != std::string::npos);
  const Run shared = run({0, 0}, GpuSharing::allowed);
  CHECK(shared.backend == DpBackend::gloo);
  check_bits(shared);
}
