// Preprocessor files: precedence, limits, constants, refusals.
#include "checkpoint/preprocessor_config.h"

#include "support/checkpoint_copy.h"
#include "support/doctest.h"

using namespace vtower;
using test::CheckpointCopy;
using test::has_note;
using test::mentions;

namespace {

constexpr const char* qwen2 = "qwen2_vl-tiny-bf16";
constexpr const char* qwen3 = "qwen3_vl-tiny-bf16";
constexpr const char* image_file = "preprocessor_config.json";
constexpr const char* video_file = "video_preprocessor_config.json";

PreprocessorConfig opened(const CheckpointCopy& copy) {
  return copy.open().preprocessor();
}

std::string refusal_with(const char* checkpoint, const char* file, const nlohmann::json& change) {
  const CheckpointCopy copy(checkpoint);
  copy.edit(file, [&](nlohmann::json& value) { value.update(change); });
  return copy.refusal();
}

std::string origin(const PreprocessorConfig& config, const std::string& name) {
  for (const ValueOrigin& value : config.origins) {
    if (value.name == name) return value.origin;
  }
  return "none";
}

}  // namespace

TEST_CASE("R48: constants come from the file and are required") {
  const PreprocessorConfig clip = opened(CheckpointCopy(qwen2));
  CHECK(clip.norm.mean() == std::array{0.48145466, 0.4578275, 0.40821073});
  CHECK(clip.norm.std() == std::array{0.26862954, 0.26130258, 0.27577711});
  CHECK(clip.norm.rescale_factor() == 1.0 / 255.0);
  CHECK(origin(clip, "mean") == "preprocessor_config.json: image_mean");
  CHECK(mentions(origin(clip, "rescale_factor"), "default of Qwen2VLImageProcessor"));
  const PreprocessorConfig half = opened(CheckpointCopy(qwen3));
  CHECK(half.norm.mean() == std::array{0.5, 0.5, 0.5});

  for (const char* key : {"image_mean", "image_std"}) {
    CAPTURE(key);
    CHECK(mentions(refusal_with(qwen2, image_file, {{key, nullptr}}), key));
    CHECK(mentions(refusal_with(qwen3, video_file, {{key, nullptr}}), video_file));
    CHECK(mentions(refusal_with(qwen2, image_file, {{key, {0.5, 0.5}}}), "three numbers"));
    CHECK(mentions(refusal_with(qwen2, image_file, {{key, {0.5, "0.5", 0.5}}}), "three numbers"));
  }
  CHECK(mentions(refusal_with(qwen2, image_file, {{"image_std", {0.5, 0.0, 0.5}}}), "above 0"));
  const CheckpointCopy none(qwen2);
  none.remove(image_file);
  CHECK(mentions(none.refusal(), image_file));
}

TEST_CASE("R49: min_pixels and max_pixels overwrite the edges, each on its own, and it is noted") {
  const CheckpointCopy copy(qwen2);
  copy.edit(image_file, [](nlohmann::json& file) {
    file.erase("min_pixels");
    file["max_pixels"] = 200000;
    file["size"] = {{"shortest_edge", 3136}, {"longest_edge", 12845056}};
  });
  const PreprocessorConfig config = opened(copy);
  CHECK(config.pixels.image_limits == PixelLimits{3136, 200000});
  CHECK(origin(config, "image_limits.min_pixels") ==
        "preprocessor_config.json: size.shortest_edge");
  CHECK(origin(config, "image_limits.max_pixels") == "preprocessor_config.json: max_pixels");
  CHECK(has_note(copy.open(), "max_pixels 200000 overwrites"));
}

TEST_CASE("limits of every published and re-saved form") {
  const CheckpointCopy flat(qwen2);
  CHECK(opened(flat).pixels.image_limits == PixelLimits{3136, 200704});
  CHECK(opened(flat).pixels.video_limits == PixelLimits{3136, 200704});
  CHECK(opened(flat).pixels.video_rule == VideoRule::qwen2);

  // As saved by 4.45 to 4.48: the limits stand in size under their own names, too.
  const CheckpointCopy old(qwen2);
  old.edit(image_file, [](nlohmann::json& file) {
    file["size"] = {{"min_pixels", 3136}, {"max_pixels", 200704}};
  });
  CHECK(opened(old).pixels.image_limits == PixelLimits{3136, 200704});
  old.edit(image_file, [](nlohmann::json& file) { file.erase("max_pixels"); });
  CHECK(mentions(old.refusal(), "longest_edge is absent"));

  // As saved by 5.17: edges and every default.
  const CheckpointCopy saved(qwen2);
  saved.edit(image_file, [](nlohmann::json& file) {
    file.erase("min_pixels");
    file.erase("max_pixels");
    file.update({{"size", {{"shortest_edge", 3136}, {"longest_edge", 200704}}},
                 {"do_resize", true},
                 {"do_rescale", true},
                 {"do_normalize", true},
                 {"do_convert_rgb", true},
                 {"do_center_crop", nullptr},
                 {"crop_size", nullptr},
                 {"rescale_factor", 0.00392156862745098},
                 {"resample", 3},
                 {"image_processor_type", "Qwen2VLImageProcessorFast"}});
  });
  CHECK(opened(saved).pixels.image_limits == PixelLimits{3136, 200704});
  CHECK(opened(saved).norm == opened(flat).norm);
  CHECK(saved.open().notes().empty());

  // No limits at all: the class default.
  const CheckpointCopy bare(qwen2);
  bare.edit(image_file, [](nlohmann::json& file) {
    file.erase("min_pixels");
    file.erase("max_pixels");
  });
  CHECK(opened(bare).pixels.image_limits == PixelLimits{3136, 1003520});
  CHECK(opened(bare).pixels.video_limits == PixelLimits{100352, 602112});
  CHECK(mentions(origin(opened(bare), "video_limits.max_pixels"), "Qwen2VLVideoProcessor"));
}

TEST_CASE("video limits and rule of qwen3_vl") {
  const CheckpointCopy copy(qwen3);
  CHECK(opened(copy).pixels.image_limits == PixelLimits{65536, 262144});
  CHECK(opened(copy).pixels.video_limits == PixelLimits{4096, 1048576});
  CHECK(opened(copy).pixels.video_rule == VideoRule::qwen3);
  CHECK_FALSE(opened(copy).pixels.fps.has_value());

  copy.edit(video_file, [](nlohmann::json& file) {
    file["max_pixels"] = 5000;
    file["fps"] = 2;
    file["min_frames"] = 4;
    file["max_frames"] = 768;
    file["do_sample_frames"] = true;
  });
  const PixelSpec pixels = opened(copy).pixels;
  CHECK(pixels.video_limits == PixelLimits{4096, 1048576});  // this class knows `size` alone
  CHECK(has_note(copy.open(), "max_pixels is ignored"));
  CHECK(pixels.fps == 2.0);
  CHECK(pixels.min_frames == 4);
  CHECK(pixels.max_frames == 768);
  CHECK(pixels.do_sample_frames == true);

  const CheckpointCopy fallback(qwen3);
  fallback.remove(video_file);
  CHECK(opened(fallback).pixels.video_limits == PixelLimits{65536, 262144});
  const CheckpointCopy bare(qwen3);
  bare.edit(video_file, [](nlohmann::json& file) { file.erase("size"); });
  CHECK(opened(bare).pixels.video_limits == PixelLimits{131072, 786432});
}

TEST_CASE("processor_config.json wins over the flat files as a whole") {
  const CheckpointCopy copy(qwen3);
  nlohmann::json image = copy.json(image_file);
  nlohmann::json video = copy.json(video_file);
  image["size"]["longest_edge"] = 131072;
  video["size"]["longest_edge"] = 524288;
  copy.write(
      "processor_config.json",
      nlohmann::json{{"image_processor", image}, {"processor_class", "Qwen3VLProcessor"}}.dump());
  CHECK(opened(copy).pixels.image_limits.max_pixels == 131072);
  CHECK(opened(copy).pixels.video_limits.max_pixels == 1048576);
  CHECK(has_note(copy.open(), "preprocessor_config.json gives way"));
  copy.write("processor_config.json",
             nlohmann::json{{"image_processor", image}, {"video_processor", video}}.dump());
  CHECK(opened(copy).pixels.video_limits.max_pixels == 524288);
  CHECK(origin(opened(copy), "mean") == "processor_config.json: image_processor.image_mean");
  copy.remove(image_file);
  copy.remove(video_file);
  CHECK(opened(copy).pixels.image_limits.max_pixels == 131072);
  copy.write("processor_config.json", nlohmann::json{{"image_processor", image}}.dump());
  CHECK(opened(copy).pixels.video_limits == PixelLimits{131072, 786432});
  CHECK(has_note(copy.open(), "no file describes video"));
}

TEST_CASE("R50: a minimum above the maximum is refused with both values") {
  const std::string said =
      refusal_with(qwen2, image_file, {{"min_pixels", 1003520}, {"max_pixels", 200704}});
  CHECK(mentions(said, "1003520"));
  CHECK(mentions(said, "200704"));
  CHECK(mentions(refusal_with(qwen2, image_file, {{"min_pixels", 0}}), "found 0"));
  CHECK(mentions(refusal_with(qwen2, image_file, {{"max_pixels", "many"}}), "whole number"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"size", {{"longest_edge", 4096}}}}),
                 "shortest_edge is absent"));
}

TEST_CASE("R63: hints at the layout of arrays and unknown keys are noted and change nothing") {
  const CheckpointCopy copy(qwen2);
  copy.edit(image_file, [](nlohmann::json& file) {
    file.update({{"input_data_format", "channels_last"},
                 {"return_tensors", "pt"},
                 {"do_center_crop", false}});
  });
  CHECK(has_note(copy.open(), "do_center_crop, input_data_format, return_tensors"));
}

TEST_CASE("R64: each step is obeyed or refused by name") {
  for (const char* key : {"do_resize", "do_rescale", "do_normalize", "do_convert_rgb"}) {
    CAPTURE(key);
    CHECK(mentions(refusal_with(qwen2, image_file, {{key, false}}), key));
    CHECK(mentions(refusal_with(qwen3, video_file, {{key, false}}), key));
    CHECK(mentions(refusal_with(qwen2, image_file, {{key, "yes"}}), "true or false"));
  }
  const CheckpointCopy copy(qwen2);
  copy.edit(image_file, [](nlohmann::json& file) {
    file.update({{"rescale_factor", 1 / 127.5},
                 {"image_mean", {1.0, 1.0, 1.0}},
                 {"image_std", {1.0, 1.0, 1.0}}});
  });
  CHECK(opened(copy).norm.rescale_factor() == 1 / 127.5);
  CHECK(mentions(refusal_with(qwen2, image_file, {{"rescale_factor", 0}}), "above 0"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"cap_pixels_per_frame", true}}), "cap_pixels"));
}

TEST_CASE("image and video constants that differ are refused") {
  CHECK(mentions(refusal_with(qwen3, video_file, {{"image_mean", {0.5, 0.5, 0.4}}}), "image_mean"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"image_std", {0.5, 0.5, 0.4}}}), "image_std"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"rescale_factor", 0.01}}), "rescale_factor"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"resample", 2}}), "resample"));
}

TEST_CASE("a layout that contradicts config.json is refused") {
  CHECK(mentions(refusal_with(qwen2, image_file, {{"patch_size", 16}}), "which says 14"));
  CHECK(mentions(refusal_with(qwen2, image_file, {{"merge_size", 4}}), "merge_size"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"temporal_patch_size", 1}}), "temporal"));
  // Absent, the image processor's class default of 14 counts, which is not this tower's.
  CHECK(mentions(refusal_with(qwen3, image_file, {{"patch_size", nullptr}}), "key absent"));
  CHECK(refusal_with(qwen3, video_file, {{"patch_size", nullptr}}) == "accepted");
}

TEST_CASE("R40: resample codes") {
  for (const int code : {0, 1, 2, 3}) {
    const CheckpointCopy copy(qwen2);
    copy.edit(image_file, [&](nlohmann::json& file) { file["resample"] = code; });
    CHECK(static_cast<int>(opened(copy).pixels.resample) == code);
  }
  CHECK(mentions(refusal_with(qwen2, image_file, {{"resample", 4}}), "(box)"));
  CHECK(mentions(refusal_with(qwen2, image_file, {{"resample", 6}}), "expected 0 to 5"));
}

TEST_CASE("processors of other models are refused") {
  CHECK(
      mentions(refusal_with(qwen2, image_file, {{"image_processor_type", "SiglipImageProcessor"}}),
               "SiglipImageProcessor"));
  CHECK(
      mentions(refusal_with(qwen3, video_file, {{"video_processor_type", "Qwen2VLVideoProcessor"}}),
               "expected \"Qwen3VLVideoProcessor\""));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"fps", 2}, {"num_frames", 8}}), "contradicts"));
  CHECK(mentions(refusal_with(qwen3, video_file, {{"min_frames", 9}, {"max_frames", 8}}), "above"));
}
