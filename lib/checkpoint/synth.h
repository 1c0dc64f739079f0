// Checkpoints with random weights: published shapes to measure with, tiny ones to test with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace vtower {

struct SynthOptions {
  std::string shape;  // one of synth_shape_names()
  std::uint64_t seed = 0;
  DType dtype = DType::bf16;                // bf16, f16 or f32
  std::optional<std::int64_t> blocks = {};  // fewer blocks than the shape has, to measure with
};

// "qwen2-vl-tiny", "qwen2-vl-2b", ..., "qwen3-vl-32b".
std::vector<std::string> synth_shape_names();

// Writes config.json, the preprocessor files and model.safetensors (or shards with their index)
// into `folder`, which is made; config.json comes last, so that an interrupted run leaves no
// checkpoint. A seed gives the same bytes on every machine, and the same values, rounded, in every
// dtype. The weights are scaled so that attention is far from uniform and every norm, bias and
// position matters. Memory: one shard of 256 MB.
// Throws Error{usage}: unknown shape, more blocks than it has, another dtype, a folder that holds a
// checkpoint already; Error{unreadable}: the folder cannot be written.
void write_synthetic_checkpoint(const SynthOptions& options, const std::filesystem::path& folder);

}  // namespace vtower
