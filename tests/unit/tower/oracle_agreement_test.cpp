// The tower against the oracle where the reference data do not reach: other activations, odd
// grids, changed configurations.
#include <ATen/ops/isfinite.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "oracle/oracle.h"
#include "support/checkpoint_copy.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"
#include "tower/vision_tower.h"

using namespace vtower;

namespace {

RawPatches noise(const PatchLayout& layout, std::vector<GridThw> grids, std::uint32_t seed = 1) {
  std::int64_t rows = 0;
  for (const GridThw& grid : grids) rows += grid.patches();
  ByteBuffer bytes(static_cast<std::size_t>(rows * layout.row_width()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    bytes.data()[i] = static_cast<std::uint8_t>(seed >> 24);
  }
  return RawPatches::from_rows(std::move(bytes), std::move(grids), layout);
}

struct Both {
  TowerOutput tower;
  oracle::OracleOutput oracle;
};

Both run_item(const Checkpoint& checkpoint, const RawPatches& patches) {
  const VisionTower tower = VisionTower::load(checkpoint, Placement{});
  return {tower.encode(patches, make_seq_plan(tower.config(), patches.grids())),
          oracle::Oracle(checkpoint).encode_item(patches, 0)};
}

void check_agree(const Checkpoint& checkpoint, const GridThw& grid) {
  const Both both = run_item(checkpoint, noise(checkpoint.vision().layout, {grid}));
  CHECK(test::relative_error(both.tower.embeddings, both.oracle.embeddings) <= 4e-6);
  REQUIRE(both.tower.deepstack.size() == both.oracle.deepstack.size());
  for (std::size_t j = 0; j < both.tower.deepstack.size(); ++j) {
    CHECK(test::relative_error(both.tower.deepstack[j], both.oracle.deepstack[j]) <= 4e-6);
  }
}

Checkpoint tiny(const std::string& family) {
  return Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-fp32"));
}

const std::vector<std::string> families{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"};

}  // namespace

TEST_CASE("R66: the activation is the configuration's") {
  for (const std::string& family : families) {
    std::vector<at::Tensor> outputs;
    for (const char* name : {"quick_gelu", "gelu", "gelu_pytorch_tanh", "silu"}) {
      const test::CheckpointCopy copy(family + "-tiny-fp32");
      copy.edit_vision([&](nlohmann::json& vision) { vision["hidden_act"] = name; });
      const Checkpoint checkpoint = copy.open();
      const Both both = run_item(checkpoint, noise(checkpoint.vision().layout, {{1, 8, 12}}));
      CHECK(test::relative_error(both.tower.embeddings, both.oracle.embeddings) <= 4e-6);
      for (const at::Tensor& other : outputs) {
        CHECK(test::relative_error(both.tower.embeddings, other) > 4e-5);
      }
      outputs.push_back(both.tower.embeddings);
    }
  }
}

TEST_CASE("R70: large grids, ragged at both rims") {
  for (const std::string& family : families) check_agree(tiny(family), {1, 50, 66});
  check_agree(tiny("qwen2_5_vl"), {2, 18, 90});
}

TEST_CASE("the thinnest grids") {
  for (const std::string& family : families) {
    check_agree(tiny(family), {1, 2, 2});
    check_agree(tiny(family), {1, 2, 130});
    check_agree(tiny(family), {3, 40, 2});
  }
}

TEST_CASE("R69, R56: which blocks see the whole frame") {
  for (const std::vector<int>& blocks : {std::vector<int>{}, {0, 1, 2, 3}, {3, 0}}) {
    const test::CheckpointCopy copy("qwen2_5_vl-tiny-fp32");
    copy.edit_vision([&](nlohmann::json& vision) { vision["fullatt_block_indexes"] = blocks; });
    const Checkpoint checkpoint = copy.open();
    check_agree(checkpoint, {1, 18, 22});
    // A patch of the last window reaches the first token only through a block of whole frames.
    const VisionTower tower = VisionTower::load(checkpoint, Placement{});
    const std::vector<GridThw> grids{{1, 16, 16}};
    const SeqPlan plan = make_seq_plan(tower.config(), grids);
    const PatchLayout& layout = tower.config().layout;
    const auto encode = [&](std::uint8_t corner) {
      ByteBuffer rows(static_cast<std::size_t>(256 * layout.row_width()));
      for (std::size_t i = 0; i < rows.size(); ++i) rows.data()[i] = std::uint8_t(i * 37 % 251);
      rows.data()[rows.size() - 1] = corner;
      return tower.encode(RawPatches::from_rows(std::move(rows), grids, layout), plan).embeddings;
    };
    const at::Tensor dark = encode(0);
    const at::Tensor bright = encode(255);
    CHECK_FALSE(dark[63].equal(bright[63]));
    CHECK(dark[0].equal(bright[0]) == blocks.empty());
  }
}

TEST_CASE("R49 of deepstack: the list says which merger, the blocks say the order") {
  for (const std::vector<int>& blocks : {std::vector<int>{2, 0, 1}, {3, 1, 0}}) {
    const test::CheckpointCopy copy("qwen3_vl-tiny-fp32");
    copy.edit_vision([&](nlohmann::json& vision) { vision["deepstack_visual_indexes"] = blocks; });
    check_agree(copy.open(), {1, 6, 8});
  }
}

TEST_CASE("R72: interpolated positions are rounded once") {
  const Checkpoint checkpoint = tiny("qwen3_vl");
  const RawPatches patches = noise(checkpoint.vision().layout, {{1, 38, 62}});
  const VisionTower tower = VisionTower::load(checkpoint, {DType::bf16, c10::kCPU});
  at::Tensor positions;
  (void)tower.encode(patches, make_seq_plan(tower.config(), patches.grids()),
                     StageTrace([&](const std::string& stage, const at::Tensor& value) {
                       if (stage == "pos_embed") positions = value.to(at::kDouble);
                     }));
  // The oracle of a checkpoint whose table holds the rounded values.
  const at::Tensor exact = oracle::Oracle(checkpoint)
                               .encode_item(patches, 0, oracle::StageRequest::of({"pos_embed"}))
                               .stages.at("pos_embed");
  const at::Tensor off = positions.sub(exact).abs();
  // Half an ulp for the table, half for the result, each at most 2^-8 of the largest operand.
  CHECK(off.max().item<double>() <= exact.abs().max().item<double>() / 256);
}

TEST_CASE("R87: what overflows in fp16 is fine in bf16 and fp32") {
  const test::CheckpointCopy copy("qwen2_vl-tiny-fp32");
  copy.edit_tensors([](test::OwnedTensor& tensor) {
    if (tensor.name != "visual.blocks.1.mlp.fc1.weight") return;
    for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + i, sizeof(float));
      value *= 6e4F;
      std::memcpy(tensor.bytes.data() + i, &value, sizeof(float));
    }
  });
  const Checkpoint checkpoint = copy.open();
  const RawPatches patches = noise(checkpoint.vision().layout, {{1, 8, 8}});
  const SeqPlan plan = make_seq_plan(checkpoint.vision(), patches.grids());
  const auto finite = [&](DType dtype) {
    const VisionTower tower = VisionTower::load(checkpoint, {dtype, c10::kCPU});
    return at::isfinite(tower.encode(patches, plan).embeddings).all().item<bool>();
  };
  CHECK(finite(DType::f32));
  CHECK(finite(DType::bf16));
  CHECK_FALSE(finite(DType::f16));
}
