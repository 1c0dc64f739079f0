// config.json and the preprocessor files of synthetic checkpoints, in the published files' form.
#include <nlohmann/json.hpp>

#include "checkpoint/synth_shapes.h"

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

std::string torch_name(DType dtype) {
  return dtype == DType::bf16 ? "bfloat16" : dtype == DType::f16 ? "float16" : "float32";
}

// Published files leave out hidden_act and in_channels of Qwen2-VL, whose hidden_size is the
// width of its output.
Json vision_config(const SynthShape& shape) {
  switch (shape.family) {
    case Family::qwen2_vl:
      return {{"depth", shape.depth},
              {"embed_dim", shape.width},
              {"mlp_ratio", shape.mlp_width / shape.width},
              {"num_heads", shape.heads},
              {"in_chans", 3},
              {"hidden_size", shape.out_width},
              {"patch_size", 14},
              {"spatial_merge_size", 2},
              {"spatial_patch_size", 14},
              {"temporal_patch_size", 2}};
    case Family::qwen2_5_vl:
      return {{"depth", shape.depth},
              {"hidden_act", "silu"},
              {"hidden_size", shape.width},
              {"intermediate_size", shape.mlp_width},
              {"num_heads", shape.heads},
              {"in_chans", 3},
              {"out_hidden_size", shape.out_width},
              {"patch_size", 14},
              {"spatial_merge_size", 2},
              {"spatial_patch_size", 14},
              {"window_size", 112},
              {"fullatt_block_indexes", shape.special_blocks},
              {"tokens_per_second", 2},
              {"temporal_patch_size", 2}};
    case Family::qwen3_vl: break;
  }
  return {{"deepstack_visual_indexes", shape.special_blocks},
          {"depth", shape.depth},
          {"hidden_act", "gelu_pytorch_tanh"},
          {"hidden_size", shape.width},
          {"in_channels", 3},
          {"initializer_range", 0.02},
          {"intermediate_size", shape.mlp_width},
          {"model_type", "qwen3_vl"},
          {"num_heads", shape.heads},
          {"num_position_embeddings", 2304},
          {"out_hidden_size", shape.out_width},
          {"patch_size", 16},
          {"spatial_merge_size", 2},
          {"temporal_patch_size", 2}};
}

Json model_config(const SynthShape& shape, DType dtype) {
  // A few keys of the language model, in the places where readers must not take them for vision's.
  Json text{{"hidden_act", "silu"},
            {"hidden_size", shape.out_width},
            {"intermediate_size", 2 * shape.out_width},
            {"num_attention_heads", 8},
            {"num_hidden_layers", 1},
            {"num_key_value_heads", 1},
            {"rms_norm_eps", 1e-06},
            {"vocab_size", 32}};
  const Json tokens{{"vision_start_token_id", 151652},
                    {"vision_end_token_id", 151653},
                    {"image_token_id", 151655},
                    {"video_token_id", 151656}};
  Json config;
  if (shape.family == Family::qwen3_vl) {
    text["dtype"] = torch_name(dtype);
    text["model_type"] = "qwen3_vl_text";
    text["rope_theta"] = 5000000;
    config["architectures"] = Json::array({"Qwen3VLForConditionalGeneration"});
    config["model_type"] = "qwen3_vl";
    config["text_config"] = text;
  } else {
    config["architectures"] =
        Json::array({shape.family == Family::qwen2_vl ? "Qwen2VLForConditionalGeneration"
                                                      : "Qwen2_5_VLForConditionalGeneration"});
    config["model_type"] = to_string(shape.family);
    config.update(text);
    config["rope_theta"] = 1000000.0;
    config["torch_dtype"] = torch_name(dtype);
  }
  config["vision_config"] = vision_config(shape);
  config.update(tokens);
  return config;
}

Json qwen2_processor(const SynthShape& shape) {
  return {{"min_pixels", 3136},
          {"max_pixels", shape.published ? 12845056 : 200704},
          {"patch_size", 14},
          {"temporal_patch_size", 2},
          {"merge_size", 2},
          {"image_mean", {0.48145466, 0.4578275, 0.40821073}},
          {"image_std", {0.26862954, 0.26130258, 0.27577711}},
          {"image_processor_type", "Qwen2VLImageProcessor"},
          {"processor_class",
           shape.family == Family::qwen2_vl ? "Qwen2VLProcessor" : "Qwen2_5_VLProcessor"}};
}

Json qwen3_processor(std::int64_t longest_edge, std::int64_t shortest_edge) {
  return {{"size", {{"longest_edge", longest_edge}, {"shortest_edge", shortest_edge}}},
          {"patch_size", 16},
          {"temporal_patch_size", 2},
          {"merge_size", 2},
          {"image_mean", {0.5, 0.5, 0.5}},
          {"image_std", {0.5, 0.5, 0.5}},
          {"processor_class", "Qwen3VLProcessor"}};
}

}  // namespace

std::map<std::string, std::string> synth_config_files(const SynthShape& shape, DType dtype) {
  std::map<std::string, Json> files{{"config.json", model_config(shape, dtype)}};
  if (shape.family == Family::qwen3_vl) {
    Json image = qwen3_processor(shape.published ? 16777216 : 262144, 65536);
    image["image_processor_type"] = "Qwen2VLImageProcessorFast";
    Json video = qwen3_processor(shape.published ? 25165824 : 1048576, 4096);
    video["video_processor_type"] = "Qwen3VLVideoProcessor";
    files["preprocessor_config.json"] = image;
    files["video_preprocessor_config.json"] = video;
  } else {
    files["preprocessor_config.json"] = qwen2_processor(shape);
  }
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : files) texts[name] = value.dump(2) + "\n";
  return texts;
}

}  // namespace vtower
