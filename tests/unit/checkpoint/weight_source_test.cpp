// Weights: strictness of names, shapes, types, values and files.
#include "checkpoint/weight_source.h"

#include <ATen/ops/equal.h>

#include <bit>
#include <cstring>

#include "support/checkpoint_copy.h"
#include "support/doctest.h"

using namespace vtower;
using test::CheckpointCopy;
using test::has_note;
using test::mentions;
using test::OwnedTensor;

namespace {

constexpr const char* qwen2 = "qwen2_vl-tiny-bf16";      // one file, model.visual.
constexpr const char* sharded = "qwen2_5_vl-tiny-fp32";  // three shards, visual.
constexpr const char* with_lm = "qwen2_vl-tiny-fp32";    // language-model tensors, visual.
constexpr const char* index_file = "model.safetensors.index.json";

std::string refused_take(const CheckpointCopy& copy, const std::string& name,
                         std::vector<std::int64_t> shape) {
  WeightSource weights = copy.open().weights();
  return test::refusal([&] { (void)weights.take(name, std::move(shape)); });
}

std::string rename_prefix(const std::string& name, const std::string& to) {
  return to + name.substr(std::string("model.visual.").size());
}

OwnedTensor& find(std::vector<OwnedTensor>& tensors, const std::string& name) {
  for (OwnedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

}  // namespace

TEST_CASE("a tensor comes as it is stored, once, and outlives its source") {
  at::Tensor weight;
  {
    WeightSource weights = CheckpointCopy(with_lm).open().weights();
    weight = weights.take("merger.ln_q.weight", {64});
    CHECK(mentions(test::refusal([&] { (void)weights.take("merger.ln_q.weight", {64}); }),
                   "was taken before"));
  }
  CHECK((weight.scalar_type() == at::kFloat));
  std::vector<OwnedTensor> stored = CheckpointCopy(with_lm).tensors();
  const OwnedTensor& expected = find(stored, "visual.merger.ln_q.weight");
  CHECK(std::memcmp(weight.const_data_ptr(), expected.bytes.data(), expected.bytes.size()) == 0);
}

TEST_CASE("fp16, bf16 and fp32 are read at any alignment") {
  const CheckpointCopy copy(qwen2);
  std::vector<OwnedTensor> tensors = copy.tensors();
  // An odd number of bytes before everything else, as another writer may lay it out.
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  std::string data(1, '\0');
  for (const OwnedTensor& tensor : tensors) {
    nlohmann::json entry{{"dtype", safetensors_name(tensor.dtype)},
                         {"shape", tensor.shape},
                         {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    header += ",\"" + tensor.name + "\":" + entry.dump();
    data.append(tensor.bytes.begin(), tensor.bytes.end());
  }
  header += "}";
  std::string length(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(length.data(), &size, 8);
  WeightSource aligned = CheckpointCopy(qwen2).open().weights();
  copy.write("model.safetensors", length + header + data);
  WeightSource shifted = copy.open().weights();
  const std::vector<std::int64_t> shape{64, 64};
  CHECK(at::equal(aligned.take("blocks.1.attn.proj.weight", shape),
                  shifted.take("blocks.1.attn.proj.weight", shape)));
}

TEST_CASE("R55: missing tensors and other shapes name tensor, expected, found and likely cause") {
  const CheckpointCopy copy(qwen2);
  const std::string shape = refused_take(copy, "blocks.1.attn.qkv.weight", {128, 64});
  CHECK(mentions(shape, "blocks.1.attn.qkv.weight: expected [128, 64], file has [192, 64]"));
  CHECK(mentions(shape, "is this another family"));
  const std::string missing = refused_take(copy, "blocks.1.mlp.gate_proj.weight", {172, 64});
  CHECK(mentions(missing, "expected [172, 64]"));
  CHECK(mentions(missing, "look like those of qwen2_vl"));
}

TEST_CASE("finish() names the vision tensors that nobody took") {
  const CheckpointCopy copy(qwen2);
  WeightSource weights = copy.open().weights();
  const std::string all = test::refusal([&] { weights.finish(); });
  CHECK(mentions(all, "blocks.0.attn.proj.bias [64]"));
  CHECK(mentions(all, std::to_string(weights.tensor_count()) + " vision tensors"));
  for (const OwnedTensor& tensor : copy.tensors()) {
    (void)weights.take(rename_prefix(tensor.name, ""), tensor.shape);
  }
  CHECK(test::refusal([&] { weights.finish(); }) == "accepted");
}

TEST_CASE("R51: three prefixes load alike, any other and mixtures do not load") {
  const CheckpointCopy published(qwen2);
  const std::string hash = published.open().weights().hash();
  for (const std::string prefix : {"visual.", "thinker.visual."}) {
    CAPTURE(prefix);
    const CheckpointCopy copy(qwen2);
    copy.edit_tensors([&](OwnedTensor& t) { t.name = rename_prefix(t.name, prefix); });
    CHECK(copy.open().prefix() == prefix);
    CHECK(copy.open().weights().hash() == hash);
  }
  for (const std::string prefix : {"model.model.visual.", ""}) {
    CAPTURE(prefix);
    const CheckpointCopy copy(qwen2);
    copy.edit_tensors([&](OwnedTensor& t) { t.name = rename_prefix(t.name, prefix); });
    const std::string said = copy.refusal();
    CHECK(mentions(said, prefix + "blocks.0.attn.proj.bias"));
    CHECK(mentions(said, "model.visual."));
  }
  const CheckpointCopy mixed(qwen2);
  std::vector<OwnedTensor> tensors = mixed.tensors();
  tensors.push_back(tensors.front());
  tensors.back().name = rename_prefix(tensors.back().name, "visual.");
  mixed.write_tensors(tensors);
  CHECK(mentions(mixed.refusal(), "several prefixes"));
}

TEST_CASE("C6: the prefix follows the vision tensors, whatever the language model is called") {
  const CheckpointCopy copy(with_lm);
  copy.edit_tensors([](OwnedTensor& t) {
    if (t.name.starts_with("model.")) t.name = "model.language_model." + t.name.substr(6);
  });
  CHECK(copy.open().prefix() == "visual.");
  CHECK(copy.open().weights().hash() == CheckpointCopy(with_lm).open().weights().hash());
}

TEST_CASE("language-model tensors may hold anything") {
  const CheckpointCopy copy(with_lm);
  std::vector<OwnedTensor> tensors = copy.tensors();
  for (OwnedTensor& tensor : tensors) {
    if (!tensor.name.starts_with("visual.")) {
      tensor.dtype = DType::u8;
      tensor.shape = {static_cast<std::int64_t>(tensor.bytes.size())};
      std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::uint8_t{0xff});
    }
  }
  copy.write_tensors(tensors);
  CHECK(copy.open().weights().hash() == CheckpointCopy(with_lm).open().weights().hash());
  CHECK(copy.open().weights().main_dtype() == DType::f32);
}

TEST_CASE("R52: a missing shard is refused when it holds vision tensors, noted when not") {
  const CheckpointCopy needed(sharded);
  needed.remove("model-00002-of-00003.safetensors");
  CHECK(mentions(needed.refusal(), "model-00002-of-00003.safetensors"));
  CHECK(mentions(needed.refusal(), "visual.blocks"));

  const CheckpointCopy spare(sharded);
  spare.edit(index_file, [](nlohmann::json& index) {
    index["weight_map"]["lm_head.weight"] = "model-00004-of-00004.safetensors";
  });
  CHECK(has_note(spare.open(), "model-00004-of-00004.safetensors is missing"));
  spare.write("model-00004-of-00004.safetensors", "damaged");
  CHECK(has_note(spare.open(), "not needed and not read"));
}

TEST_CASE("R53: a cut shard is refused with the number of missing bytes") {
  const CheckpointCopy copy(sharded);
  const auto file = copy.file("model-00003-of-00003.safetensors");
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size - 1000);
  CHECK(mentions(copy.refusal(), "1000 bytes are missing"));
  std::filesystem::resize_file(file, 100);
  CHECK(mentions(copy.refusal(), "model-00003-of-00003.safetensors"));
  std::filesystem::resize_file(file, 0);
  CHECK(mentions(copy.refusal(), "model-00003-of-00003.safetensors"));
}

TEST_CASE("R54: fused and split qkv give equal bits, a wrong row total is refused") {
  const CheckpointCopy fused(qwen2);
  for (const std::string suffix : {"", "_proj"}) {
    CAPTURE(suffix);
    const CheckpointCopy split(qwen2);
    std::vector<OwnedTensor> tensors;
    for (const OwnedTensor& tensor : fused.tensors()) {
      const std::size_t at = tensor.name.find(".qkv.");
      if (at == std::string::npos) {
        tensors.push_back(tensor);
        continue;
      }
      const std::size_t third = tensor.bytes.size() / 3;
      for (std::size_t i = 0; i < 3; ++i) {
        OwnedTensor part = tensor;
        part.name =
            tensor.name.substr(0, at) + "." + "qkv"[i] + suffix + tensor.name.substr(at + 4);
        part.shape[0] /= 3;
        const auto begin = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i * third);
        part.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(third));
        tensors.push_back(part);
      }
    }
    split.write_tensors(tensors);
    WeightSource a = fused.open().weights();
    WeightSource b = split.open().weights();
    CHECK(at::equal(a.take_qkv("blocks.2.attn.qkv.weight", {192, 64}),
                    b.take_qkv("blocks.2.attn.qkv.weight", {192, 64})));
    CHECK(at::equal(a.take_qkv("blocks.2.attn.qkv.bias", {192}),
                    b.take_qkv("blocks.2.attn.qkv.bias", {192})));
    CHECK(mentions(test::refusal([&] { (void)b.take_qkv("blocks.1.attn.qkv.bias", {96}); }),
                   "expected [32], file has [64]"));
  }
}

TEST_CASE("R57: a stale index is refused with both sets of files") {
  const CheckpointCopy copy(sharded);
  copy.edit(index_file, [](nlohmann::json& index) {
    for (auto& [name, file] : index["weight_map"].items()) {
      std::string renamed = file.get<std::string>();
      renamed.replace(renamed.find("-of-00003"), 9, "-of-00005");
      file = renamed;
    }
  });
  CHECK(mentions(copy.refusal(), "stale index"));
  CHECK(mentions(copy.refusal(), "model-00001-of-00005.safetensors"));
  CHECK(mentions(copy.refusal(), "model-00001-of-00003.safetensors"));

  const CheckpointCopy moved(sharded);
  moved.edit(index_file, [](nlohmann::json& index) {
    index["weight_map"]["visual.merger.ln_q.weight"] = "model-00001-of-00003.safetensors";
  });
  CHECK(mentions(moved.refusal(), "stale index"));
  const CheckpointCopy unlisted(sharded);
  unlisted.edit(index_file, [](nlohmann::json& index) {
    index["weight_map"].erase("visual.merger.ln_q.weight");
  });
  CHECK(mentions(unlisted.refusal(), "visual.merger.ln_q.weight"));
}

TEST_CASE("a tensor in two shards, two forms of weights, a foreign path in the index") {
  const CheckpointCopy twice(sharded);
  const std::string last = "model-00003-of-00003.safetensors";
  std::vector<OwnedTensor> tensors = twice.tensors(last);
  std::vector<OwnedTensor> first = twice.tensors("model-00001-of-00003.safetensors");
  tensors.push_back(find(first, "visual.blocks.0.norm1.weight"));
  twice.write_tensors(tensors, last);
  CHECK(mentions(twice.refusal(), "visual.blocks.0.norm1.weight lies in both"));

  const CheckpointCopy both(sharded);
  both.write_tensors(both.tensors(last));
  CHECK(mentions(both.refusal(), "holds both"));

  const CheckpointCopy foreign(sharded);
  foreign.edit(index_file, [](nlohmann::json& index) {
    index["weight_map"]["visual.merger.ln_q.weight"] = "../outside.safetensors";
  });
  CHECK(mentions(foreign.refusal(), "expected a file name"));
}

TEST_CASE("R58: lists of unquantised modules decide nothing and are noted") {
  const CheckpointCopy copy(qwen2);
  copy.edit("config.json", [](nlohmann::json& config) {
    config["quantization_config"] = {{"modules_to_not_convert", {"visual"}}};
  });
  CHECK(has_note(copy.open(), "quantization_config"));
}

TEST_CASE("R59: packed and quantised types are refused by name") {
  const CheckpointCopy packed(qwen2);
  packed.edit_tensors([](OwnedTensor& t) {
    if (!mentions(t.name, "blocks.1.mlp.fc1.weight")) return;
    t.dtype = DType::u8;
    t.shape = {256, 128};
  });
  const std::string said = refused_take(packed, "blocks.1.mlp.fc1.weight", {256, 64});
  CHECK(mentions(said, "blocks.1.mlp.fc1.weight: expected F32, BF16 or F16, file has U8"));
  const CheckpointCopy wide(qwen2);
  wide.edit_tensors([](OwnedTensor& t) {
    if (!mentions(t.name, "merger.ln_q.weight")) return;
    t.dtype = DType::f64;
    t.bytes.resize(64 * 8);
  });
  CHECK(mentions(refused_take(wide, "merger.ln_q.weight", {64}), "file has F64"));
}

TEST_CASE("R88: NaN and infinity are found with their count") {
  const auto plant = [](OwnedTensor& t, std::size_t at, std::uint32_t bits) {
    const std::size_t size = size_of(t.dtype);
    std::memcpy(t.bytes.data() + at * size, &bits, size);
  };
  const CheckpointCopy bf16(qwen2);
  bf16.edit_tensors([&](OwnedTensor& t) {
    if (!mentions(t.name, "patch_embed.proj.weight")) return;
    plant(t, 0, 0x7f80);
    plant(t, 5000, 0xffff);
    plant(t, t.bytes.size() / 2 - 1, 0x7f81);
  });
  CHECK(mentions(refused_take(bf16, "patch_embed.proj.weight", {64, 3, 2, 14, 14}),
                 "2 NaN and 1 infinite values of 75264"));
  const CheckpointCopy fp32(with_lm);
  fp32.edit_tensors([&](OwnedTensor& t) {
    if (mentions(t.name, "blocks.1.mlp.fc2.bias")) plant(t, 63, 0xff800000u);
  });
  CHECK(mentions(refused_take(fp32, "blocks.1.mlp.fc2.bias", {64}), "0 NaN and 1 infinite"));
  const CheckpointCopy fp16(qwen2);
  fp16.edit_tensors([&](OwnedTensor& t) {
    if (!mentions(t.name, "merger.ln_q.bias")) return;
    t.dtype = DType::f16;
    plant(t, 1, 0x7c01);
  });
  CHECK(mentions(refused_take(fp16, "merger.ln_q.bias", {64}), "1 NaN and 0 infinite"));
}

TEST_CASE("R109: damaged safetensors are refused as a checkpoint") {
  const CheckpointCopy copy(qwen2);
  const auto file = copy.file("model.safetensors");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + 16);
  CHECK(mentions(copy.refusal(), "16 bytes after the last tensor"));
}
