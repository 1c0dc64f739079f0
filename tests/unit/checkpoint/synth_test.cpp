// Synthetic checkpoints: the shapes they claim, the same bytes on every machine.
#include "checkpoint/synth.h"

#include <cmath>
#include <cstring>

#include "checkpoint/checkpoint.h"
#include "checkpoint/synth_shapes.h"
#include "core/error.h"
#include "support/doctest.h"
#include "support/temp_dir.h"

using namespace vtower;

namespace {

struct Published {
  const char* name;
  std::int64_t depth, width, heads, mlp_width, out_width;
  std::vector<std::int64_t> special_blocks;
  std::int64_t parameters;
};

std::vector<float> values_of(const Checkpoint& checkpoint, const std::string& name,
                             const std::vector<std::int64_t>& shape) {
  WeightSource weights = checkpoint.weights();
  const at::Tensor tensor = weights.take(name, shape);
  const auto* data = static_cast<const float*>(tensor.const_data_ptr());
  return {data, data + tensor.numel()};
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments moments(std::span<const float> values) {
  Moments result;
  for (const float value : values) result.mean += value;
  result.mean /= static_cast<double>(values.size());
  for (const float value : values) {
    result.deviation += (value - result.mean) * (value - result.mean);
  }
  result.deviation = std::sqrt(result.deviation / static_cast<double>(values.size()));
  return result;
}

}  // namespace

TEST_CASE("every published shape is read back from its configuration files") {
  const std::vector<Published> published{
      {"qwen2-vl-2b", 32, 1280, 16, 5120, 1536, {}, 665'271'296},
      {"qwen2-vl-7b", 32, 1280, 16, 5120, 3584, {}, 675'759'104},
      {"qwen2-vl-72b", 32, 1280, 16, 5120, 8192, {}, 699'356'672},
      {"qwen2.5-vl-3b", 32, 1280, 16, 3420, 2048, {7, 15, 23, 31}, 668'684'288},
      {"qwen2.5-vl-7b", 32, 1280, 16, 3420, 3584, {7, 15, 23, 31}, 676'550'144},
      {"qwen2.5-vl-32b", 32, 1280, 16, 3456, 5120, {7, 15, 23, 31}, 688'841'984},
      {"qwen2.5-vl-72b", 32, 1280, 16, 3456, 8192, {7, 15, 23, 31}, 704'573'696},
      {"qwen3-vl-2b", 24, 1024, 16, 4096, 2048, {5, 11, 17}, 406'957'056},
      {"qwen3-vl-4b", 24, 1024, 16, 4096, 2560, {5, 11, 17}, 415'347'712},
      {"qwen3-vl-8b", 27, 1152, 16, 4304, 4096, {8, 16, 24}, 576'388'336},
      {"qwen3-vl-30b-a3b", 27, 1152, 16, 4304, 2048, {8, 16, 24}, 538'631'408},
      {"qwen3-vl-32b", 27, 1152, 16, 4304, 5120, {8, 16, 24}, 595'266'800},
  };
  for (const Published& expected : published) {
    CAPTURE(expected.name);
    const SynthShape* shape = nullptr;
    for (const SynthShape& known : synth_shapes()) {
      if (known.name == expected.name) shape = &known;
    }
    REQUIRE(shape != nullptr);
    const test::TempDir dir;
    for (const auto& [name, text] : synth_config_files(*shape, DType::bf16)) dir.write(name, text);
    const VisionConfig vision = read_vision_config(dir.path(), std::nullopt);
    CHECK(vision.depth == expected.depth);
    CHECK(vision.width == expected.width);
    CHECK(vision.heads == expected.heads);
    CHECK(vision.mlp_width == expected.mlp_width);
    CHECK(vision.out_width == expected.out_width);
    CHECK(vision.notes.empty());
    if (vision.family == Family::qwen2_5_vl) {
      CHECK(vision.full_attention_blocks == expected.special_blocks);
    }
    if (vision.family == Family::qwen3_vl) {
      CHECK(vision.deepstack_blocks == expected.special_blocks);
    }
    const PreprocessorConfig preprocessor = read_preprocessor_config(dir.path(), vision);
    CHECK(preprocessor.pixels.image_limits.max_pixels ==
          (vision.family == Family::qwen3_vl ? 16777216 : 12845056));
    std::int64_t parameters = 0;
    for (const SynthTensor& tensor : synth_tensors(*shape)) parameters += tensor.elements();
    CHECK(parameters == expected.parameters);
  }
}

TEST_CASE("one seed gives the same bytes, another one other bytes, every dtype the same values") {
  const auto hash = [](const std::string& shape, std::uint64_t seed, DType dtype) {
    const test::TempDir dir;
    write_synthetic_checkpoint({shape, seed, dtype}, dir.path() / "new" / "folder");
    const Checkpoint checkpoint = Checkpoint::open(dir.path() / "new" / "folder");
    CHECK(checkpoint.notes().empty());
    CHECK(checkpoint.weights().main_dtype() == dtype);
    return checkpoint.weights().hash();
  };
  // Pinned, so that another machine or compiler that differs is found.
  CHECK(hash("qwen2-vl-tiny", 7, DType::bf16) == "53c2ef246c4cdb6e335760d7cf564789");
  CHECK(hash("qwen2.5-vl-tiny", 7, DType::f16) == "11a3b613cfe04a445880f22296b4ff92");
  CHECK(hash("qwen3-vl-compact", 7, DType::f32) == "b5eedc7777d46caa449c91f9322708d9");
  CHECK(hash("qwen2-vl-tiny", 8, DType::bf16) != hash("qwen2-vl-tiny", 7, DType::bf16));

  const test::TempDir dir;
  write_synthetic_checkpoint({"qwen3-vl-tiny", 1, DType::f32}, dir.path() / "wide");
  write_synthetic_checkpoint({"qwen3-vl-tiny", 1, DType::bf16}, dir.path() / "narrow");
  WeightSource wide = Checkpoint::open(dir.path() / "wide").weights();
  WeightSource narrow = Checkpoint::open(dir.path() / "narrow").weights();
  const at::Tensor rounded = wide.take("pos_embed.weight", {2304, 64}).to(at::kBFloat16);
  CHECK(rounded.equal(narrow.take("pos_embed.weight", {2304, 64})));
}

TEST_CASE("weights have the spread that makes every stage matter") {
  const test::TempDir dir;
  write_synthetic_checkpoint({"qwen2-vl-compact", 3, DType::f32}, dir.path() / "c");
  const Checkpoint checkpoint = Checkpoint::open(dir.path() / "c");
  const std::vector<float> qkv = values_of(checkpoint, "blocks.1.attn.qkv.weight", {480, 160});
  const std::span<const float> all(qkv);
  const double unit = 1.0 / std::sqrt(160.0);
  CHECK(moments(all.first(320 * 160)).deviation == doctest::Approx(1.5 * unit).epsilon(0.02));
  CHECK(moments(all.last(160 * 160)).deviation == doctest::Approx(unit).epsilon(0.02));
  CHECK(std::abs(moments(all).mean) < 0.01 * unit);
  const std::vector<float> norm = values_of(checkpoint, "blocks.0.norm1.weight", {160});
  CHECK(moments(norm).mean == doctest::Approx(1.0).epsilon(0.1));
  CHECK(moments(norm).deviation == doctest::Approx(0.2).epsilon(0.2));
  const std::vector<float> bias = values_of(checkpoint, "merger.mlp.0.bias", {640});
  CHECK(moments(bias).deviation == doctest::Approx(0.2).epsilon(0.1));
  // Worked out from the description of the numbers in another language.
  CHECK(bias[0] == 0x1.28e0ce0000000p-10f);
  CHECK(bias[1] == -0x1.2886aa0000000p-3f);
  CHECK(bias[639] == 0x1.e0ae860000000p-5f);
}

TEST_CASE("unknown shapes, other dtypes and folders in use are refused") {
  const auto kind_of = [](const SynthOptions& options, const std::filesystem::path& folder) {
    try {
      write_synthetic_checkpoint(options, folder);
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.message();
    }
    return std::string("written");
  };
  const test::TempDir dir;
  CHECK(kind_of({"qwen2-vl-3b"}, dir.path() / "a").find("usage: unknown shape") == 0);
  CHECK(kind_of({"qwen2-vl-3b"}, dir.path() / "a").find("qwen2.5-vl-3b") != std::string::npos);
  CHECK(kind_of({"qwen2-vl-tiny", 0, DType::i8}, dir.path() / "a").find("usage") == 0);
  CHECK_FALSE(std::filesystem::exists(dir.path() / "a"));
  CHECK(kind_of({"qwen2-vl-tiny"}, dir.path() / "a") == "written");
  CHECK(kind_of({"qwen2-vl-tiny"}, dir.path() / "a").find("usage") == 0);
  dir.write("file", "x");
  CHECK(kind_of({"qwen2-vl-tiny"}, dir.path() / "file" / "a").find("unreadable") == 0);
}
