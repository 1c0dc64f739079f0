// config.json: what is read, what stands in for what, what is refused.
#include "checkpoint/vision_config.h"

#include "support/checkpoint_copy.h"
#include "support/doctest.h"

using namespace vtower;
using test::CheckpointCopy;
using test::has_note;
using test::mentions;

namespace {

constexpr const char* qwen2 = "qwen2_vl-tiny-bf16";
constexpr const char* qwen2_5 = "qwen2_5_vl-tiny-bf16";
constexpr const char* qwen3 = "qwen3_vl-tiny-bf16";

const ValueOrigin& origin(const VisionConfig& config, const std::string& name) {
  for (const ValueOrigin& value : config.origins) {
    if (value.name == name) return value;
  }
  FAIL("no origin of " << name);
  return config.origins.front();
}

// What the checkpoint says after one vision key was set (or removed, with null).
std::string refusal_with(const char* checkpoint, const char* key, const nlohmann::json& value) {
  const CheckpointCopy copy(checkpoint);
  copy.edit_vision([&](nlohmann::json& vision) { vision[key] = value; });
  return copy.refusal();
}

}  // namespace

TEST_CASE("each family's own names give the tower's shape") {
  const Checkpoint second = CheckpointCopy(qwen2).open();
  const VisionConfig& a = second.vision();
  CHECK(a.family == Family::qwen2_vl);
  CHECK(a.depth == 4);
  CHECK(a.width == 64);  // embed_dim; hidden_size is the output here
  CHECK(a.out_width == 48);
  CHECK(a.mlp_width == 256);
  CHECK(a.heads == 4);
  CHECK(a.head_dim() == 16);
  CHECK(a.layout == PatchLayout{14, 2, 2});
  CHECK(a.hidden_act == Activation::quick_gelu);
  CHECK(a.norm_eps == 1e-6);
  CHECK(a.rope_theta == 10000.0);  // not the language model's 1000000
  CHECK(a.is_full_attention(0));

  const Checkpoint fifth = CheckpointCopy(qwen2_5).open();
  const VisionConfig& b = fifth.vision();
  CHECK(b.family == Family::qwen2_5_vl);
  CHECK(b.width == 64);
  CHECK(b.mlp_width == 172);
  CHECK(b.out_width == 48);
  CHECK(b.hidden_act == Activation::silu);
  CHECK(b.window_size == 112);
  CHECK(b.window_tokens() == 4);
  CHECK(b.full_attention_blocks == std::vector<std::int64_t>{1, 3});
  CHECK_FALSE(b.is_full_attention(0));
  CHECK(b.is_full_attention(3));

  const Checkpoint third = CheckpointCopy(qwen3).open();
  const VisionConfig& c = third.vision();
  CHECK(c.family == Family::qwen3_vl);
  CHECK(c.layout == PatchLayout{16, 2, 2});
  CHECK(c.hidden_act == Activation::gelu_tanh);
  CHECK(c.position_table_side == 48);
  CHECK(c.deepstack_blocks == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("every value remembers the key or the class default it came from") {
  const Checkpoint checkpoint = CheckpointCopy(qwen2).open();
  const VisionConfig& config = checkpoint.vision();
  CHECK(origin(config, "depth").origin == "config.json: vision_config.depth");
  CHECK(origin(config, "width").origin == "config.json: vision_config.embed_dim");
  CHECK(origin(config, "out_width").origin == "config.json: vision_config.hidden_size");
  CHECK(mentions(origin(config, "hidden_act").origin, "default of Qwen2VLVisionConfig"));
  CHECK(mentions(origin(config, "norm_eps").origin, "5.17.0"));
  CHECK(origin(config, "norm_eps").value == "1e-06");
}

TEST_CASE("R55: an absent architecture key is an error that names it") {
  for (const char* key : {"depth", "embed_dim", "hidden_size", "mlp_ratio", "num_heads",
                          "patch_size", "spatial_merge_size", "temporal_patch_size"}) {
    CAPTURE(key);
    const CheckpointCopy copy(qwen2);
    copy.edit_vision([&](nlohmann::json& vision) {
      vision.erase(key);
      if (std::string(key) == "patch_size") vision.erase("spatial_patch_size");
    });
    CHECK(mentions(copy.refusal(), std::string("vision_config.") + key + ": expected"));
  }
  for (const char* key : {"hidden_size", "intermediate_size", "out_hidden_size", "window_size",
                          "fullatt_block_indexes", "hidden_act"}) {
    CAPTURE(key);
    CHECK(mentions(refusal_with(qwen2_5, key, nullptr), std::string("vision_config.") + key));
  }
  for (const char* key : {"hidden_size", "intermediate_size", "out_hidden_size", "hidden_act",
                          "num_position_embeddings", "deepstack_visual_indexes"}) {
    CAPTURE(key);
    CHECK(mentions(refusal_with(qwen3, key, nullptr), std::string("vision_config.") + key));
  }
  const CheckpointCopy copy(qwen3);
  copy.edit("config.json", [](nlohmann::json& config) { config.erase("vision_config"); });
  CHECK(mentions(copy.refusal(), "vision_config: expected an object"));
}

TEST_CASE("R55: model types and architectures that contradict each other are refused") {
  const CheckpointCopy copy(qwen2);
  copy.edit("config.json", [](nlohmann::json& config) { config["model_type"] = "qwen2_5_vl"; });
  CHECK(mentions(copy.refusal(), "Qwen2VLForConditionalGeneration"));
  CHECK(mentions(copy.refusal(), "qwen2_5_vl"));
  CHECK(mentions(refusal_with(qwen3, "model_type", "qwen2_vl_vision"), "is of the family"));
}

TEST_CASE("R56: full-attention lists may be empty or hold every block, indices must exist") {
  const CheckpointCopy none(qwen2_5);
  none.edit_vision([](nlohmann::json& v) { v["fullatt_block_indexes"] = nlohmann::json::array(); });
  CHECK_FALSE(none.open().vision().is_full_attention(3));
  const CheckpointCopy all(qwen2_5);
  all.edit_vision([](nlohmann::json& v) { v["fullatt_block_indexes"] = {3, 2, 1, 0, 0}; });
  CHECK(all.open().vision().full_attention_blocks == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(mentions(refusal_with(qwen2_5, "fullatt_block_indexes", {1, 4}), "depth 4"));
  CHECK(mentions(refusal_with(qwen2_5, "fullatt_block_indexes", {-1}), "found -1"));
  CHECK(mentions(refusal_with(qwen2_5, "fullatt_block_indexes", 7), "list of whole numbers"));
}

TEST_CASE("R60: known spellings are accepted, contradicting ones refused") {
  const CheckpointCopy both(qwen2);
  both.edit_vision([](nlohmann::json& v) { v["in_channels"] = 3; });
  CHECK(both.refusal() == "accepted");
  CHECK(mentions(refusal_with(qwen2, "in_channels", 4), "contradicts"));
  CHECK(mentions(refusal_with(qwen3, "in_channels", 1), "expected 3, found 1"));
  CHECK(mentions(refusal_with(qwen2_5, "embed_dim", 128), "contradicts hidden_size 64"));
  CHECK(mentions(refusal_with(qwen2_5, "spatial_patch_size", 16), "contradicts patch_size 14"));
  CHECK(mentions(refusal_with(qwen2, "intermediate_size", 100), "mlp_ratio"));
  CHECK(mentions(refusal_with(qwen2, "out_hidden_size", 49), "contradicts hidden_size 48"));
  const CheckpointCopy ratio(qwen2);
  ratio.edit_vision([](nlohmann::json& v) { v["mlp_ratio"] = 4.0; });
  CHECK(ratio.open().vision().mlp_width == 256);
}

TEST_CASE("R61: nested and re-saved forms load like the published ones") {
  const CheckpointCopy copy(qwen2_5);
  copy.edit("config.json", [](nlohmann::json& config) {
    nlohmann::json text;
    for (const char* key : {"hidden_size", "hidden_act", "rope_theta", "intermediate_size"}) {
      text[key] = config[key];
      config.erase(key);
    }
    config["text_config"] = text;
    config["dtype"] = config["torch_dtype"];
    config.erase("torch_dtype");
    config["transformers_version"] = "5.17.0";
    nlohmann::json& vision = config["vision_config"];
    vision["model_type"] = "qwen2_5_vl_vision";
    vision["in_channels"] = 3;
    vision["dtype"] = "bfloat16";
    vision["initializer_range"] = 0.02;
    vision["rope_parameters"] = {{"rope_theta", 10000.0}, {"rope_type", "axial"}};
  });
  const Checkpoint checkpoint = copy.open();
  CHECK(checkpoint.vision().width == 64);
  CHECK(mentions(origin(checkpoint.vision(), "rope_theta").origin, "rope_parameters.rope_theta"));
  CHECK(checkpoint.notes().empty());

  const CheckpointCopy contradiction(qwen2);
  contradiction.edit("config.json", [](nlohmann::json& config) { config["dtype"] = "float16"; });
  CHECK(mentions(contradiction.refusal(), "torch_dtype"));
  const CheckpointCopy other(qwen2);
  other.edit("config.json", [](nlohmann::json& config) { config["torch_dtype"] = "float32"; });
  CHECK(has_note(other.open(), "says float32, the vision tensors are bfloat16"));
}

TEST_CASE("R62: an unknown model type needs the family to be named, and that is recorded") {
  const CheckpointCopy copy(qwen3);
  copy.edit("config.json", [](nlohmann::json& config) {
    config["model_type"] = "qwen3_5";
    config["architectures"] = {"Qwen3_5ForConditionalGeneration"};
    config["vision_config"]["model_type"] = "qwen3_5";
    config["vision_config"]["deepstack_visual_indexes"] = nlohmann::json::array();
  });
  CHECK(mentions(copy.refusal(), "\"qwen3_5\""));
  CHECK(mentions(copy.refusal(), "qwen2_5_vl, "));
  const Checkpoint checkpoint = copy.open({Family::qwen3_vl});
  CHECK(checkpoint.vision().deepstack_blocks.empty());
  CHECK(has_note(checkpoint, "as asked for"));

  const CheckpointCopy known(qwen2);
  CHECK(mentions(known.refusal({Family::qwen3_vl}), "was asked for"));
  CHECK(known.refusal({Family::qwen2_vl}) == "accepted");
  known.edit("config.json", [](nlohmann::json& config) {
    config.erase("model_type");
    config.erase("architectures");
  });
  CHECK(mentions(known.refusal(), "model_type: the key is absent"));
}

TEST_CASE("the Omni form keeps its vision_config in thinker_config") {
  const CheckpointCopy copy(qwen2_5);
  copy.edit("config.json", [](nlohmann::json& config) {
    nlohmann::json vision = config["vision_config"];
    vision["model_type"] = "qwen2_5_omni_vision_encoder";
    vision["embed_dim"] = vision["hidden_size"];
    config = {
        {"model_type", "qwen2_5_omni"},
        {"architectures", {"Qwen2_5OmniModel"}},
        {"thinker_config", {{"model_type", "qwen2_5_omni_thinker"}, {"vision_config", vision}}}};
  });
  CHECK(copy.open().vision().family == Family::qwen2_5_vl);
}

TEST_CASE("shapes that no tower can have are refused") {
  CHECK(mentions(refusal_with(qwen2, "num_heads", 5), "do not divide"));
  CHECK(mentions(refusal_with(qwen2, "num_heads", 32), "multiple of 4"));
  CHECK(mentions(refusal_with(qwen2, "depth", 0), "found 0"));
  CHECK(mentions(refusal_with(qwen2, "depth", "4"), "expected a whole number, found \"4\""));
  CHECK(mentions(refusal_with(qwen2, "depth", 4.5), "expected a whole number"));
  CHECK(mentions(refusal_with(qwen2, "embed_dim", 1LL << 40), "found 1099511627776"));
  CHECK(mentions(refusal_with(qwen2, "mlp_ratio", 1e300), "mlp_ratio"));
  CHECK(mentions(refusal_with(qwen2, "mlp_ratio", -4), "mlp_ratio"));
  CHECK(mentions(refusal_with(qwen2, "hidden_act", "gelu_new"), "found \"gelu_new\""));
  CHECK(mentions(refusal_with(qwen3, "num_position_embeddings", 2303), "square"));
  CHECK(mentions(refusal_with(qwen2_5, "window_size", 100), "multiple"));
  CHECK(mentions(refusal_with(qwen3, "deepstack_visual_indexes", {0, 4}), "found 4"));
  CHECK(mentions(refusal_with(qwen3, "deepstack_visual_indexes", {1, 1}), "twice"));
}

TEST_CASE("an unordered deepstack list keeps its order and is noted") {
  const CheckpointCopy copy(qwen3);
  copy.edit_vision([](nlohmann::json& v) { v["deepstack_visual_indexes"] = {2, 0, 1}; });
  const Checkpoint checkpoint = copy.open();
  CHECK(checkpoint.vision().deepstack_blocks == std::vector<std::int64_t>{2, 0, 1});
  CHECK(has_note(checkpoint, "not ascending"));
}

TEST_CASE("other rotary embeddings are refused") {
  using nlohmann::json;
  CHECK(mentions(refusal_with(qwen2, "rope_parameters", {{"rope_type", "default"}}), "axial"));
  CHECK(mentions(refusal_with(qwen2, "rope_parameters", {{"factor", 2.0}}), "factor"));
  CHECK(mentions(refusal_with(qwen2, "rope_scaling", {{"type", "mrope"}}), "rope_scaling"));
  CHECK(mentions(refusal_with(qwen2, "rope_parameters", {{"rope_theta", 0.0}}), "at least 1"));
  const CheckpointCopy copy(qwen2);
  copy.edit_vision([](json& vision) { vision["rope_parameters"] = {{"rope_theta", 500.0}}; });
  CHECK(copy.open().vision().rope_theta == 500.0);
  copy.edit_vision([](json& vision) { vision["rope_theta"] = 600.0; });
  CHECK(mentions(copy.refusal(), "contradicts"));
}

TEST_CASE("unknown keys of the vision_config are noted, a damaged file is refused") {
  const CheckpointCopy copy(qwen2);
  copy.edit_vision([](nlohmann::json& v) { v["layer_norm_eps"] = 1e-5; });
  CHECK(has_note(copy.open(), "layer_norm_eps"));
  for (const char* text : {"", "{", "[]", "null", "{\"a\": 1, \"a\": 2}", "{\"a\": \"\xff\"}"}) {
    CAPTURE(text);
    const CheckpointCopy damaged(qwen2);
    damaged.write("config.json", text);
    CHECK(mentions(damaged.refusal(), "config.json"));
  }
}
