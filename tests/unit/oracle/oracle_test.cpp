// What the oracle refuses, and that each part of its definition matters.
#include "oracle/oracle.h"

#include <functional>

#include "checkpoint/synth.h"
#include "oracle/pieces.h"
#include "oracle/pixel_norm.h"
#include "support/checkpoint_copy.h"
#include "unit/oracle/oracle_case.h"

using namespace vtower;
using test::CheckpointCopy;
using test::mentions;
using test::OwnedTensor;

namespace {

// Embeddings and deepstack of one golden input when places or configuration are wrong.
using Fault = std::function<void(oracle::Item&, VisionConfig&)>;

std::map<std::string, at::Tensor> run_with(const Checkpoint& checkpoint, const RawPatches& patches,
                                           const Fault& fault) {
  const oracle::PixelNorm norm(checkpoint.preprocessor().norm);
  const oracle::TowerWeights tensors(checkpoint.weights(), checkpoint.vision());
  const oracle::Weights weights{tensors, at::kDouble};
  std::map<std::string, std::vector<at::Tensor>> parts;
  for (std::size_t i = 0; i < patches.grids().size(); ++i) {
    const GridThw& grid = patches.grids()[i];
    VisionConfig config = checkpoint.vision();
    oracle::Item item{norm(patches, i), grid,
                      oracle::places_in_merge_order(grid, config.layout.merge_size)};
    fault(item, config);
    const oracle::StageRequest none;
    oracle::StageLog log(none);
    const oracle::TowerResult result = [&] {
      switch (config.family) {
        case Family::qwen2_vl: return encode_qwen2_vl(item, weights, config, log);
        case Family::qwen2_5_vl: return encode_qwen2_5_vl(item, weights, config, log);
        case Family::qwen3_vl: break;
      }
      return encode_qwen3_vl(item, weights, config, log);
    }();
    parts["merger"].push_back(result.embeddings);
    for (std::size_t j = 0; j < result.deepstack.size(); ++j) {
      parts["deepstack." + std::to_string(j)].push_back(result.deepstack[j]);
    }
  }
  std::map<std::string, at::Tensor> joined;
  for (const auto& [stage, values] : parts) joined[stage] = at::cat(values);
  return joined;
}

double largest_error_with(const std::string& family, const std::string& name, const Fault& fault) {
  const std::string checkpoint_name = family + "-tiny-fp32";
  const Checkpoint checkpoint =
      Checkpoint::open(test::golden("towers/checkpoints") / checkpoint_name);
  const RawPatches patches = test::case_input(family, name, checkpoint.vision().layout);
  const SafetensorsFile reference =
      test::case_file(family, name + "." + checkpoint_name + ".fp64.safetensors");
  double largest = 0.0;
  for (const auto& [stage, value] : run_with(checkpoint, patches, fault)) {
    largest = std::max(largest, test::relative_error(value, test::load_tensor(reference, stage)));
  }
  return largest;
}

void no_fault(oracle::Item&, VisionConfig&) {}

void turn_places(oracle::Item& item, VisionConfig&) {
  for (oracle::PatchPlace& place : item.places) std::swap(place.y, place.x);
  std::swap(item.grid.h, item.grid.w);
}

void join_frames(oracle::Item& item, VisionConfig&) {
  for (oracle::PatchPlace& place : item.places) place.t = 0;
}

}  // namespace

TEST_CASE("rope: rows taken for columns break every family") {
  for (const std::string family : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl"}) {
    CAPTURE(family);
    CHECK(largest_error_with(family, "single", no_fault) <= 2e-6);
    CHECK(largest_error_with(family, "single", turn_places) > 0.05);
    CHECK(largest_error_with(family, "single", [](oracle::Item&, VisionConfig& config) {
            config.rope_theta = 9000.0;
          }) > 1e-4);
  }
}

TEST_CASE("segments: frames that see each other break the video cases") {
  for (const std::string family : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl"}) {
    for (const std::string name : {"video", "mixed", "noise_video", "video_windows"}) {
      CAPTURE(family);
      CAPTURE(name);
      CHECK(largest_error_with(family, name, no_fault) <= 2e-6);
      CHECK(largest_error_with(family, name, join_frames) > 0.05);
    }
  }
}

TEST_CASE("windows: another side, none, or all of them break the window cases") {
  for (const std::string name : {"single", "partial_windows", "square", "large"}) {
    CAPTURE(name);
    CHECK(largest_error_with("qwen2_5_vl", name, no_fault) <= 2e-6);
    CHECK(largest_error_with("qwen2_5_vl", name, [](oracle::Item&, VisionConfig& config) {
            config.window_size *= 2;
          }) > 0.05);
    CHECK(largest_error_with("qwen2_5_vl", name, [](oracle::Item&, VisionConfig& config) {
            config.full_attention_blocks = {};
          }) > 0.05);
    CHECK(largest_error_with("qwen2_5_vl", name, [](oracle::Item&, VisionConfig& config) {
            config.full_attention_blocks = {0, 1, 2, 3};
          }) > 0.05);
  }
}

TEST_CASE("deepstack: another block or another merger breaks qwen3_vl") {
  CHECK(largest_error_with("qwen3_vl", "single", [](oracle::Item&, VisionConfig& config) {
          config.deepstack_blocks = {0, 1, 3};
        }) > 0.05);
  CHECK(largest_error_with("qwen3_vl", "single", [](oracle::Item&, VisionConfig& config) {
          config.deepstack_blocks = {1, 0, 2};
        }) > 0.05);
}

TEST_CASE("synthetic checkpoints show faults of order and segments in every family") {
  for (const std::string shape : {"qwen2-vl-tiny", "qwen2.5-vl-compact", "qwen3-vl-tiny"}) {
    CAPTURE(shape);
    const test::TempDir dir;
    write_synthetic_checkpoint({shape, 5, DType::bf16}, dir.path() / "c");
    const Checkpoint checkpoint = Checkpoint::open(dir.path() / "c");
    const GridThw grid{2, 12, 8};
    const PatchLayout layout = checkpoint.vision().layout;
    ByteBuffer rows(static_cast<std::size_t>(grid.patches() * layout.row_width()));
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      rows.data()[i] = static_cast<std::uint8_t>(state >> 24);
    }
    const RawPatches patches = RawPatches::from_rows(std::move(rows), {grid}, layout);
    const at::Tensor right = run_with(checkpoint, patches, no_fault).at("merger");
    for (const Fault& fault : {Fault(turn_places), Fault(join_frames)}) {
      CHECK(test::relative_error(run_with(checkpoint, patches, fault).at("merger"), right) > 0.1);
    }
  }
}

TEST_CASE("a deepstack list out of order: mergers by list, outputs by block") {
  const CheckpointCopy sorted("qwen3_vl-tiny-fp32");
  const CheckpointCopy turned("qwen3_vl-tiny-fp32");
  turned.edit_vision([](nlohmann::json& v) { v["deepstack_visual_indexes"] = {2, 0, 1}; });
  turned.edit_tensors([](OwnedTensor& t) {
    // Merger J of the sorted list is that of block J, which now stands at place 1, 2, 0.
    const std::string list = "deepstack_merger_list.";
    const std::size_t at = t.name.find(list);
    if (at == std::string::npos) return;
    char& number = t.name[at + list.size()];
    number = "120"[number - '0'];
  });
  const RawPatches patches = test::case_input("qwen3_vl", "single", sorted.open().vision().layout);
  const auto a = oracle::Oracle(sorted.open()).encode_item(patches, 0);
  const auto b = oracle::Oracle(turned.open()).encode_item(patches, 0);
  REQUIRE(b.deepstack.size() == 3);
  for (std::size_t j = 0; j < 3; ++j) CHECK(a.deepstack[j].equal(b.deepstack[j]));
}

TEST_CASE("R59: every tensor of every family is required, none may be left over") {
  for (const char* name : {"qwen2_vl-tiny-bf16", "qwen2_5_vl-tiny-bf16", "qwen3_vl-tiny-bf16"}) {
    CAPTURE(name);
    const CheckpointCopy copy(name);
    const std::vector<OwnedTensor> all = copy.tensors();
    for (std::size_t removed = 0; removed < all.size(); ++removed) {
      if (!all[removed].name.starts_with("model.visual.")) continue;
      std::vector<OwnedTensor> rest = all;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(removed));
      copy.write_tensors(rest);
      const std::string said = test::refusal([&] { const oracle::Oracle oracle(copy.open()); });
      CHECK(mentions(said, all[removed].name.substr(std::string("model.visual.").size())));
      CHECK(mentions(said, "expected ["));
    }
    std::vector<OwnedTensor> more = all;
    more.push_back(all.front());
    more.back().name = "model.visual.blocks.9.norm1.weight";
    copy.write_tensors(more);
    CHECK(mentions(test::refusal([&] { const oracle::Oracle oracle(copy.open()); }),
                   "blocks.9.norm1.weight"));
  }
}

TEST_CASE("R55: the tensors of one family under the configuration of another") {
  const CheckpointCopy copy("qwen2_5_vl-tiny-bf16");
  copy.write("config.json", CheckpointCopy("qwen2_vl-tiny-bf16").json("config.json").dump());
  CHECK(mentions(test::refusal([&] { const oracle::Oracle oracle(copy.open()); }),
                 "look like those of qwen2_5_vl"));
}

TEST_CASE("the table equals the reference's in every bit") {
  const nlohmann::json tables = test::golden_json("media/normalise.json").at("tables");
  for (const auto& [checkpoint, table] :
       {std::pair<std::string, std::string>{"qwen2_vl-tiny-fp32", "qwen2-torchvision"},
        {"qwen3_vl-tiny-fp32", "qwen3-torchvision"}}) {
    const oracle::PixelNorm norm(
        Checkpoint::open(test::golden("towers/checkpoints") / checkpoint).preprocessor().norm);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t u = 0; u < 256; ++u) {
        const auto text = tables.at(table).at("values").at(c).at(u).get<std::string>();
        REQUIRE(norm.value(c, static_cast<std::uint8_t>(u)) == std::strtof(text.c_str(), nullptr));
      }
    }
  }
}

TEST_CASE("an absent item, rows of another layout and unknown stages are refused") {
  const Checkpoint checkpoint =
      Checkpoint::open(test::golden("towers/checkpoints") / "qwen2_vl-tiny-fp32");
  const oracle::Oracle oracle(checkpoint);
  const RawPatches patches = test::case_input("qwen2_vl", "batch", checkpoint.vision().layout);
  CHECK_THROWS_WITH_AS(oracle.encode_item(patches, 3), "[oracle] item 3 of 3", Error);
  const RawPatches other = test::case_input("qwen3_vl", "batch", {16, 2, 2});
  CHECK_THROWS_AS(oracle.encode_item(other, 0), Error);
  for (const char* stage : {"block.4", "pos_embed", "deepstack.0", "window_index", "merge"}) {
    CHECK_THROWS_AS(oracle.encode_item(patches, 0, oracle::StageRequest::of({stage})), Error);
  }
  const auto output =
      oracle.encode_item(patches, 1, oracle::StageRequest::of({"block.3.attn", "normalized"}));
  CHECK(output.stages.size() == 2);
}
