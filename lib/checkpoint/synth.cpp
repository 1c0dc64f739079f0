#include "checkpoint/synth.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/synth_shapes.h"
#include "core/error.h"
#include "core/file.h"
#include "core/safetensors.h"

namespace vtower {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_shard = 256'000'000;  // bytes, but for a tensor larger than that

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Numbers of mean 0 and variance 1 by counter: element i of a tensor depends on seed, name and i
// alone. A number is the sum of eight 16-bit uniform ones, so it is made of whole numbers and one
// rounding: no machine's mathematical library has a part in it.
class Numbers {
 public:
  Numbers(std::uint64_t seed, const std::string& name) {
    std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
    for (const char letter : name) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
    }
    key_ = splitmix64(splitmix64(seed) ^ hash);
  }

  [[nodiscard]] double operator()(std::uint64_t i) const {
    std::int64_t sum = 0;
    for (std::uint64_t half = 0; half < 2; ++half) {
      const std::uint64_t bits = splitmix64(key_ + 2 * i + half);
      for (int shift = 0; shift < 64; shift += 16) {
        sum += static_cast<std::int64_t>((bits >> shift) & 0xffff);
      }
    }
    // Twice the sum less twice its mean is whole; the variance of a term is (65536^2 - 1) / 12.
    static const double deviation = std::sqrt(8.0 * (65536.0 * 65536.0 - 1.0) / 12.0);
    return static_cast<double>(2 * sum - 8 * 65535) / (2.0 * deviation);
  }

 private:
  std::uint64_t key_;
};

// Linear weights keep the variance of their input; query and key rows are larger by half, which
// makes attention far from uniform.
double weight(const SynthTensor& tensor, std::int64_t i, double number) {
  switch (tensor.kind) {
    case WeightKind::linear: return number / std::sqrt(static_cast<double>(tensor.fan_in));
    case WeightKind::query_key_value: {
      const double gain = i / tensor.fan_in < tensor.shape[0] / 3 * 2 ? 1.5 : 1.0;
      return gain * number / std::sqrt(static_cast<double>(tensor.fan_in));
    }
    case WeightKind::bias: return 0.2 * number;
    case WeightKind::norm_weight: return 1.0 + 0.2 * number;
    case WeightKind::norm_bias: return 0.1 * number;
    case WeightKind::positions: return 0.5 * number;
  }
  return number;
}

std::vector<std::uint8_t> weight_bytes(const SynthTensor& tensor, std::uint64_t seed, DType dtype) {
  const Numbers numbers(seed, tensor.name.substr(tensor.name.find("visual.")));
  const std::int64_t count = tensor.elements();
  const std::size_t size = size_of(dtype);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * size);
  std::uint8_t* out = bytes.data();
  for (std::int64_t i = 0; i < count; ++i, out += size) {
    const double number = numbers(static_cast<std::uint64_t>(i));
    const auto value = static_cast<float>(weight(tensor, i, number));
    if (dtype == DType::f32) {
      std::memcpy(out, &value, size);
    } else {
      const std::uint16_t narrow =
          dtype == DType::bf16 ? c10::BFloat16(value).x : c10::Half(value).x;
      std::memcpy(out, &narrow, size);
    }
  }
  return bytes;
}

std::vector<std::vector<SynthTensor>> split_into_shards(std::vector<SynthTensor> tensors,
                                                        DType dtype) {
  std::vector<std::vector<SynthTensor>> shards(1);
  std::size_t filled = 0;
  for (SynthTensor& tensor : tensors) {
    const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * size_of(dtype);
    if (filled > 0 && filled + bytes > largest_shard) {
      shards.emplace_back();
      filled = 0;
    }
    filled += bytes;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

std::string shard_name(std::size_t number, std::size_t count) {
  if (count == 1) return "model.safetensors";
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, count);
  return name;
}

void write_shard(const std::vector<SynthTensor>& tensors, const SynthOptions& options,
                 const fs::path& path) {
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<TensorToWrite> written;
  for (const SynthTensor& tensor : tensors) {
    bytes.push_back(weight_bytes(tensor, options.seed, options.dtype));
    written.push_back({tensor.name, options.dtype, tensor.shape, {bytes.back()}});
  }
  write_safetensors(path, std::move(written), {{"format", "pt"}});
}

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

const SynthShape& shape_named(const std::string& name) {
  std::string known;
  for (const SynthShape& shape : synth_shapes()) {
    if (shape.name == name) return shape;
    known += (known.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw Error(ErrorKind::usage, "synth", "unknown shape \"" + name + "\"; known are " + known);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::unreadable, "synth", folder.string() + ": " + error.message());
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "config.json" || entry.path().extension() == ".safetensors") {
      throw Error(ErrorKind::usage, "synth",
                  folder.string() + ": holds " + name + " already; name a new folder");
    }
  }
}

// The shape cut off after some blocks; special blocks beyond them go.
SynthShape with_blocks(SynthShape shape, std::optional<std::int64_t> blocks) {
  if (!blocks) return shape;
  if (*blocks < 1 || *blocks > shape.depth) {
    throw Error(ErrorKind::usage, "synth",
                std::to_string(*blocks) + " blocks: " + std::string(shape.name) + " has 1 to " +
                    std::to_string(shape.depth));
  }
  shape.depth = *blocks;
  std::erase_if(shape.special_blocks, [&](std::int64_t block) { return block >= *blocks; });
  return shape;
}

}  // namespace

void write_synthetic_checkpoint(const SynthOptions& options, const fs::path& folder) {
  const SynthShape shape = with_blocks(shape_named(options.shape), options.blocks);
  if (options.dtype != DType::f32 && options.dtype != DType::bf16 && options.dtype != DType::f16) {
    throw Error(ErrorKind::usage, "synth",
                "weights can be bf16, fp16 or fp32, not " + std::string(to_string(options.dtype)));
  }
  make_folder(folder);
  const auto shards = split_into_shards(synth_tensors(shape), options.dtype);
  nlohmann::json weight_map;
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i + 1, shards.size());
    write_shard(shards[i], options, folder / name);
    for (const SynthTensor& tensor : shards[i]) {
      weight_map[tensor.name] = name;
      parameters += tensor.elements();
    }
  }
  if (shards.size() > 1) {
    const nlohmann::ordered_json index{
        {"metadata",
         {{"total_parameters", parameters},
          {"total_size", parameters * static_cast<std::int64_t>(size_of(options.dtype))}}},
        {"weight_map", weight_map}};
    write_text(folder / "model.safetensors.index.json", index.dump(2) + "\n");
  }
  const auto files = synth_config_files(shape, options.dtype);
  for (const auto& [name, text] : files) {
    if (name != "config.json") write_text(folder / name, text);
  }
  write_text(folder / "config.json", files.at("config.json"));
}

}  // namespace vtower
