// Error by depth: rounding alone stays in its band at every stage, and a fault leaves it where it
// was planted.
#include "explain/depth.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "support/doctest.h"
#include "support/golden.h"
#include "support/towers.h"

using namespace vtower;
using namespace vtower::explain;

namespace {

constexpr double k = 3;

Checkpoint open(const std::string& name) {
  return Checkpoint::open(test::golden("towers/checkpoints/" + name));
}

RawPatches item_of(const Checkpoint& checkpoint, const GridThw& grid) {
  return test::noise_patches(checkpoint.vision().layout, {grid}, 7);
}

const Fault& named(const std::vector<Fault>& faults, const std::string& name) {
  const auto found =
      std::ranges::find_if(faults, [&](const Fault& fault) { return fault.name() == name; });
  REQUIRE(found != faults.end());
  return *found;
}

}  // namespace

TEST_CASE("a sound run stays within k floors at every stage") {
  for (const std::string& family : test::families) {
    for (const std::string type : {"fp32", "bf16"}) {
      const Checkpoint checkpoint = open(family + "-tiny-" + type);
      const Placement placement{type == "fp32" ? DType::f32 : DType::bf16, c10::kCPU};
      const RawPatches item = item_of(checkpoint, {2, 12, 20});
      const Depth depth(checkpoint, placement, item, 1);
      const std::vector<StageError>& stages = depth.eager();
      REQUIRE(stages.size() > 4);
      CHECK(stages.front().name == "normalized");
      CHECK(stages.back().name == "merger");
      CHECK(std::ssize(stages) ==
            4 + checkpoint.vision().depth + std::ssize(checkpoint.vision().deepstack_blocks));
      for (const StageError& stage : stages) {
        INFO(family, " ", type, " ", stage.name, ": floor ", stage.floor);
        CHECK(stage.error <= k * stage.floor);
      }
      CHECK(stages.back().floor > 0);
      CHECK(!first_wrong_stage(stages, k));
    }
  }
}

TEST_CASE("a planted fault is first seen at its own stage") {
  for (const std::string& family : test::families) {
    const Checkpoint checkpoint = open(family + "-tiny-fp32");
    const RawPatches item = item_of(checkpoint, {1, 12, 20});
    const Setting setting{checkpoint.vision(), checkpoint.preprocessor().norm, item.grids()};
    const std::vector<Fault> faults = catalogue(setting);
    const Depth depth(checkpoint, {}, item, 1);
    const auto first_wrong = [&](const std::string& fault) {
      return first_wrong_stage(depth.under(named(faults, fault)), k);
    };
    CAPTURE(family);
    const std::int64_t last = checkpoint.vision().depth - 1;
    CHECK(first_wrong("last_block_skipped") == "block." + std::to_string(last));
    for (std::int64_t i = 0; i < last; ++i) {
      const std::string block = std::to_string(i);
      CHECK(first_wrong("branch_dropped." + block + "-attn") == "block." + block);
      CHECK(first_wrong("residual_dropped." + block + "-mlp") == "block." + block);
      CHECK(first_wrong("block_skipped." + block) == "block." + block);
    }
  }
}

TEST_CASE("faults before and after the blocks") {
  const Checkpoint checkpoint = open("qwen2_5_vl-tiny-fp32");
  const RawPatches item = item_of(checkpoint, {1, 12, 20});
  const Depth depth(checkpoint, {}, item, 1);
  const auto first_wrong = [&](const std::string& id) -> std::string {
    const auto stages = depth.under(id, "");
    REQUIRE(stages);
    return first_wrong_stage(*stages, k).value_or("none");
  };
  CHECK(first_wrong("norm_skipped") == "normalized");
  CHECK(first_wrong("window_inverse_missing") == "merger");
  CHECK(!depth.under("no_such_fault", ""));
  CHECK(!depth.under("norm_skipped", "no such variant"));
  CHECK(first_wrong_stage(*depth.under("branch_dropped", "2-mlp"), k) == "block.2");
}

TEST_CASE("what is no number, of another shape or not there") {
  const Checkpoint checkpoint = open("qwen2_vl-tiny-fp32");
  const RawPatches item = item_of(checkpoint, {1, 4, 4});
  const Depth depth(checkpoint, {}, item, 1);
  StageTensors side = depth.stages_under(Fault{});
  const std::size_t all = depth.of(side).size();
  CHECK(!first_wrong_stage(depth.of(side), k));
  side["block.1"] = side["block.1"].mul(std::numeric_limits<float>::quiet_NaN());
  CHECK(first_wrong_stage(depth.of(side), k) == "block.1");
  side["block.0"] = side["block.0"].narrow(0, 0, 3);
  CHECK(first_wrong_stage(depth.of(side), k) == "block.0");
  side.erase("block.0");
  CHECK(depth.of(side).size() == all - 1);
}
