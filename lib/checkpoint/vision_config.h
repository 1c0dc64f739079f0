// The tower's shape as config.json states it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/family.h"
#include "core/patch_layout.h"

namespace vtower {

enum class Activation { quick_gelu, silu, gelu, gelu_tanh };

std::string_view to_string(Activation activation) noexcept;

// Whether a merger's norm sees a patch (before its rows are joined) or a token (after).
enum class MergerNorm { per_patch, per_token };

// Where a value came from: "config.json: vision_config.depth", or "default of Qwen2VLVisionConfig
// (transformers 5.17.0)" for the few keys that published files leave out.
struct ValueOrigin {
  std::string name;
  std::string value;
  std::string origin;
};

// Only vision keys are read; a language-model key never stands in for one. Every architecture key
// is required but those in the table of checkpoint/family_defaults.cpp.
struct VisionConfig {
  Family family = Family::qwen2_vl;
  std::int64_t depth = 0;  // blocks
  std::int64_t width = 0;  // D
  std::int64_t heads = 0;
  std::int64_t mlp_width = 0;
  std::int64_t out_width = 0;  // of a token
  Activation hidden_act = Activation::quick_gelu;
  double norm_eps = 0.0;
  double rope_theta = 0.0;
  PatchLayout layout;

  // qwen2_5_vl: side of an attention window in pixels; blocks that attend to the whole frame.
  std::int64_t window_size = 0;
  std::vector<std::int64_t> full_attention_blocks;

  // qwen3_vl: side of the square position table; the block that feeds each deepstack merger:
  // merger J takes the output of block deepstack_blocks[J]. In the order of the file, which need
  // not be ascending; the reference hands the results out in the order of the blocks.
  std::int64_t position_table_side = 0;
  std::vector<std::int64_t> deepstack_blocks;

  // What no file states and the reference fixes in its classes.
  Activation merger_act = Activation::gelu;
  MergerNorm merger_norm = MergerNorm::per_patch;
  MergerNorm deepstack_norm = MergerNorm::per_token;

  std::vector<ValueOrigin> origins;
  std::vector<std::string> notes;  // keys that shape nothing, the family that was asked for

  [[nodiscard]] std::int64_t head_dim() const noexcept { return width / heads; }
  // Side of an attention window in tokens.
  [[nodiscard]] std::int64_t window_tokens() const noexcept {
    return window_size / layout.merge_size / layout.patch_size;
  }
  [[nodiscard]] bool is_full_attention(std::int64_t block) const noexcept;
};

// Reads config.json of a checkpoint folder: the vision_config at its top or in thinker_config.
// `family` names the family where the file's own model_type is unknown.
// Throws Error{checkpoint} naming file and key, with expected and found: unknown or contradicting
// model types, an absent key, spellings of one key that contradict, a value out of range, heads
// that do not divide the width, a head width that is no multiple of 4, an unknown activation or
// rotary type, a position table that is no square, windows that are no whole tokens.
// Source: the vision configuration classes of transformers 5.17.0. Thread-safe.
VisionConfig read_vision_config(const std::filesystem::path& folder, std::optional<Family> family);

}  // namespace vtower
