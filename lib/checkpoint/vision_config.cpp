#include "checkpoint/vision_config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <sstream>
#include <utility>

#include "checkpoint/family_defaults.h"
#include "checkpoint/find_family.h"
#include "checkpoint/json_object.h"
#include "core/error.h"

namespace vtower {
namespace {

constexpr const char* context = "vision_config";

// Bounds that keep every product of sizes far from overflow.
constexpr std::int64_t largest_width = 1 << 20;
constexpr std::int64_t largest_depth = 10'000;
constexpr std::int64_t largest_side = 1 << 10;

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string text_of(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  return text + "]";
}

class VisionReader {
 public:
  VisionReader(const JsonObject& vision, Family family)
      : vision_(vision), defaults_(tower_defaults(family)) {
    config_.family = family;
  }

  VisionConfig read() {
    config_.depth = integer("depth", {"depth"}, largest_depth);
    config_.heads = integer("heads", {"num_heads"}, largest_width);
    config_.layout.patch_size =
        integer("patch_size", {"patch_size", "spatial_patch_size"}, largest_side);
    config_.layout.temporal_patch_size =
        integer("temporal_patch_size", {"temporal_patch_size"}, largest_side);
    config_.layout.merge_size = integer("merge_size", {"spatial_merge_size"}, largest_side);
    read_channels();
    if (config_.family == Family::qwen2_vl) {
      read_qwen2_widths();
    } else {
      config_.width = integer("width", {"hidden_size", "embed_dim"}, largest_width);
      config_.mlp_width = integer("mlp_width", {"intermediate_size"}, largest_width);
      config_.out_width = integer("out_width", {"out_hidden_size"}, largest_width);
    }
    read_activation();
    config_.norm_eps = defaults_.norm_eps;
    record("norm_eps", text_of(config_.norm_eps), std::string(defaults_.origin));
    read_rope();
    if (config_.family == Family::qwen2_5_vl) read_windows();
    if (config_.family == Family::qwen3_vl) read_positions_and_deepstack();
    check_heads();
    note_unread_keys();
    return std::move(config_);
  }

 private:
  void record(const std::string& name, const std::string& value, const std::string& origin) {
    config_.origins.push_back({name, value, origin});
  }

  // The first of the spellings that is present; the others must not contradict it.
  std::int64_t integer(const std::string& name, std::initializer_list<const char*> spellings,
                       std::int64_t most) {
    const char* first = nullptr;
    std::int64_t value = 0;
    for (const char* key : spellings) {
      if (first != nullptr && !vision_.has(key)) continue;
      if (first == nullptr && spellings.size() > 1 && !vision_.has(key)) continue;
      const std::int64_t found = vision_.integer(key, 1, most);
      if (first == nullptr) {
        first = key;
        value = found;
      } else if (found != value) {
        vision_.fail(key,
                     std::to_string(found) + " contradicts " + first + " " + std::to_string(value));
      }
    }
    if (first == nullptr) {
      vision_.fail(*spellings.begin(), "expected a whole number, the key is absent");
    }
    record(name, std::to_string(value), vision_.origin(first));
    return value;
  }

  void read_channels() {
    const bool stated = vision_.has("in_channels") || vision_.has("in_chans");
    if (!stated) {
      record("channels", std::to_string(defaults_.in_channels), std::string(defaults_.origin));
      return;
    }
    const std::int64_t channels = integer("channels", {"in_channels", "in_chans"}, largest_width);
    if (channels != PatchLayout::channels) {
      vision_.fail(vision_.has("in_channels") ? "in_channels" : "in_chans",
                   "expected 3, found " + std::to_string(channels));
    }
  }

  // qwen2_vl: embed_dim is the tower's width and hidden_size the width of its output.
  void read_qwen2_widths() {
    config_.width = integer("width", {"embed_dim"}, largest_width);
    config_.out_width = integer("out_width", {"hidden_size", "out_hidden_size"}, largest_width);
    const double ratio = vision_.number("mlp_ratio");
    const double mlp_width = std::trunc(static_cast<double>(config_.width) * ratio);
    if (!(mlp_width >= 1.0 && mlp_width <= static_cast<double>(largest_width))) {
      vision_.fail("mlp_ratio", "times embed_dim gives an MLP width of " + text_of(mlp_width));
    }
    config_.mlp_width = static_cast<std::int64_t>(mlp_width);
    record("mlp_width", std::to_string(config_.mlp_width),
           vision_.origin("mlp_ratio") + " times embed_dim");
    if (vision_.has("intermediate_size") &&
        vision_.integer("intermediate_size", 1, largest_width) != config_.mlp_width) {
      vision_.fail("intermediate_size",
                   "contradicts embed_dim * mlp_ratio = " + std::to_string(config_.mlp_width));
    }
  }

  void read_activation() {
    if (!vision_.has("hidden_act") && defaults_.hidden_act) {
      config_.hidden_act = *defaults_.hidden_act;
      record("hidden_act", std::string(to_string(config_.hidden_act)),
             std::string(defaults_.origin));
      return;
    }
    const std::string name = vision_.text("hidden_act");
    bool known = false;
    for (const Activation activation :
         {Activation::quick_gelu, Activation::silu, Activation::gelu, Activation::gelu_tanh}) {
      if (name != to_string(activation)) continue;
      config_.hidden_act = activation;
      known = true;
    }
    if (!known) {
      vision_.fail("hidden_act",
                   "expected quick_gelu, silu, gelu or gelu_pytorch_tanh, found \"" + name + "\"");
    }
    record("hidden_act", name, vision_.origin("hidden_act"));
  }

  void read_rope() {
    config_.rope_theta = defaults_.rope_theta;
    std::string origin(defaults_.origin);
    if (vision_.has("rope_scaling")) {
      vision_.fail("rope_scaling",
                   "the vision towers have no scaled rotary embedding; is this a "
                   "key of the language model?");
    }
    if (vision_.has("rope_theta")) {
      config_.rope_theta = vision_.number("rope_theta");
      origin = vision_.origin("rope_theta");
    }
    if (vision_.has("rope_parameters")) {
      const JsonObject rope = vision_.object("rope_parameters");
      if (rope.has("rope_type") && rope.text("rope_type") != "axial") {
        rope.fail("rope_type", "expected \"axial\", found \"" + rope.text("rope_type") + "\"");
      }
      if (rope.has("rope_theta")) {
        const double theta = rope.number("rope_theta");
        if (vision_.has("rope_theta") && theta != config_.rope_theta) {
          rope.fail("rope_theta", text_of(theta) + " contradicts " + vision_.origin("rope_theta") +
                                      " " + text_of(config_.rope_theta));
        }
        config_.rope_theta = theta;
        origin = rope.origin("rope_theta");
      }
      for (const std::string& key : rope.unread_keys()) {
        rope.fail(key, "the axial rotary embedding has no such parameter");
      }
    }
    if (!(config_.rope_theta >= 1.0)) {
      throw Error(ErrorKind::checkpoint, context,
                  origin + ": expected at least 1, found " + text_of(config_.rope_theta));
    }
    record("rope_theta", text_of(config_.rope_theta), origin);
  }

  void read_windows() {
    config_.window_size = integer("window_size", {"window_size"}, largest_width);
    if (config_.window_size % config_.layout.factor() != 0) {
      vision_.fail("window_size", "expected a multiple of patch_size * spatial_merge_size = " +
                                      std::to_string(config_.layout.factor()) + ", found " +
                                      std::to_string(config_.window_size));
    }
    std::vector<std::int64_t> blocks = block_indices("fullatt_block_indexes");
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    config_.full_attention_blocks = std::move(blocks);
    record("full_attention_blocks", text_of(config_.full_attention_blocks),
           vision_.origin("fullatt_block_indexes"));
  }

  void read_positions_and_deepstack() {
    const std::int64_t rows = vision_.integer("num_position_embeddings", 1, largest_width);
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(rows))));
    if (side * side != rows) {
      vision_.fail("num_position_embeddings",
                   "expected the square of a whole number, found " + std::to_string(rows));
    }
    config_.position_table_side = side;
    record("position_table_side", std::to_string(side), vision_.origin("num_position_embeddings"));
    config_.deepstack_blocks = block_indices("deepstack_visual_indexes");
    const std::set<std::int64_t> distinct(config_.deepstack_blocks.begin(),
                                          config_.deepstack_blocks.end());
    if (distinct.size() != config_.deepstack_blocks.size()) {
      vision_.fail("deepstack_visual_indexes",
                   "a block is named twice in " + text_of(config_.deepstack_blocks));
    }
    if (!std::is_sorted(config_.deepstack_blocks.begin(), config_.deepstack_blocks.end())) {
      config_.notes.push_back(vision_.origin("deepstack_visual_indexes") +
                              " is not ascending: mergers follow its order, outputs the order of "
                              "the blocks, as in the reference");
    }
    record("deepstack_blocks", text_of(config_.deepstack_blocks),
           vision_.origin("deepstack_visual_indexes"));
  }

  std::vector<std::int64_t> block_indices(const std::string& key) const {
    std::vector<std::int64_t> blocks = vision_.integers(key);
    for (const std::int64_t block : blocks) {
      if (block < 0 || block >= config_.depth) {
        vision_.fail(key, "expected blocks 0 to " + std::to_string(config_.depth - 1) + " (depth " +
                              std::to_string(config_.depth) + "), found " + std::to_string(block));
      }
    }
    return blocks;
  }

  void check_heads() const {
    if (config_.width % config_.heads != 0) {
      vision_.fail("num_heads", std::to_string(config_.heads) +
                                    " heads do not divide the tower's width " +
                                    std::to_string(config_.width));
    }
    if (config_.head_dim() % 4 != 0) {
      vision_.fail("num_heads",
                   "expected a head width that is a multiple of 4 (rotary pairs of "
                   "rows and columns), found " +
                       std::to_string(config_.head_dim()));
    }
  }

  void note_unread_keys() {
    static const std::set<std::string> without_effect{"model_type",        "dtype",
                                                      "torch_dtype",       "tokens_per_second",
                                                      "initializer_range", "transformers_version"};
    std::string names;
    for (const std::string& key : vision_.unread_keys()) {
      if (!without_effect.contains(key)) names += (names.empty() ? "" : ", ") + key;
    }
    if (!names.empty()) {
      config_.notes.push_back("config.json: keys of vision_config that the tower does not know: " +
                              names);
    }
  }

  const JsonObject& vision_;
  const TowerDefaults& defaults_;
  VisionConfig config_;
};

void refuse_contradicting_dtypes(const JsonObject& object) {
  if (!object.has("dtype") || !object.has("torch_dtype")) return;
  const std::string dtype = object.text("dtype");
  const std::string torch_dtype = object.text("torch_dtype");
  if (dtype != torch_dtype) {
    object.fail("dtype", "\"" + dtype + "\" contradicts torch_dtype \"" + torch_dtype + "\"");
  }
}

}  // namespace

std::string_view to_string(Activation activation) noexcept {
  switch (activation) {
    case Activation::quick_gelu: return "quick_gelu";
    case Activation::silu: return "silu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_pytorch_tanh";
  }
  return "unknown";
}

bool VisionConfig::is_full_attention(std::int64_t block) const noexcept {
  return family != Family::qwen2_5_vl ||
         std::binary_search(full_attention_blocks.begin(), full_attention_blocks.end(), block);
}

VisionConfig read_vision_config(const std::filesystem::path& folder, std::optional<Family> family) {
  const JsonObject top = JsonObject::read(folder / "config.json", context);
  const bool omni = !top.has("vision_config") && top.has("thinker_config");
  const JsonObject model = omni ? top.object("thinker_config") : top;
  if (!model.has("vision_config")) {
    model.fail("vision_config",
               "expected an object, the key is absent; is this the folder of a "
               "whole vision-language model?");
  }
  const JsonObject vision = model.object("vision_config");
  const FoundFamily found = find_family(model, vision, family);
  refuse_contradicting_dtypes(model);
  refuse_contradicting_dtypes(vision);
  VisionConfig config = VisionReader(vision, found.family).read();
  config.notes.insert(config.notes.begin(), found.notes.begin(), found.notes.end());
  return config;
}

}  // namespace vtower
