// The shapes that synth knows: sizes, tensors and configuration files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/family.h"
#include "core/dtype.h"

namespace vtower {

struct SynthShape {
  std::string_view name;
  Family family;
  std::int64_t depth;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t mlp_width;
  std::int64_t out_width;
  // qwen2_5_vl: blocks with full attention; qwen3_vl: blocks with a deepstack merger.
  std::vector<std::int64_t> special_blocks;
  bool published;  // with the published limits on pixels; else with small ones
};

const std::vector<SynthShape>& synth_shapes();

enum class WeightKind { linear, query_key_value, bias, norm_weight, norm_bias, positions };

struct SynthTensor {
  std::string name;  // with the family's prefix
  std::vector<std::int64_t> shape;
  WeightKind kind;
  std::int64_t fan_in;
  [[nodiscard]] std::int64_t elements() const noexcept;
};

std::vector<SynthTensor> synth_tensors(const SynthShape& shape);

// Text of config.json and the preprocessor files by file name, with the keys that the published
// files have.
std::map<std::string, std::string> synth_config_files(const SynthShape& shape, DType dtype);

}  // namespace vtower
