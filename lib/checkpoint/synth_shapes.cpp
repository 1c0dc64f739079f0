#include "checkpoint/synth_shapes.h"

#include "checkpoint/synth.h"

namespace vtower {
namespace {

constexpr std::int64_t temporal_patch = 2;
constexpr std::int64_t merge = 2;
constexpr std::int64_t position_rows = 48 * 48;

std::int64_t patch_of(Family family) {
  return family == Family::qwen3_vl ? 16 : 14;
}

class TensorList {
 public:
  explicit TensorList(const SynthShape& shape)
      : shape_(shape), prefix_(shape.family == Family::qwen3_vl ? "model.visual." : "visual.") {}

  std::vector<SynthTensor> list() {
    patch_embed();
    for (std::int64_t i = 0; i < shape_.depth; ++i) block("blocks." + std::to_string(i));
    if (shape_.family == Family::qwen3_vl) {
      merger("merger", shape_.width, {"norm", "linear_fc1", "linear_fc2"});
      for (std::size_t j = 0; j < shape_.special_blocks.size(); ++j) {
        merger("deepstack_merger_list." + std::to_string(j), joined(),
               {"norm", "linear_fc1", "linear_fc2"});
      }
    } else {
      merger("merger", shape_.width, {"ln_q", "mlp.0", "mlp.2"});
    }
    return std::move(tensors_);
  }

 private:
  struct MergerNames {
    const char* norm;
    const char* first;
    const char* second;
  };

  [[nodiscard]] std::int64_t joined() const { return shape_.width * merge * merge; }

  void add(const std::string& name, std::vector<std::int64_t> shape, WeightKind kind,
           std::int64_t fan_in) {
    tensors_.push_back({prefix_ + name, std::move(shape), kind, fan_in});
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in,
              WeightKind kind = WeightKind::linear) {
    add(name + ".weight", {out, in}, kind, in);
    add(name + ".bias", {out}, WeightKind::bias, in);
  }
  void norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", {width}, WeightKind::norm_weight, width);
    if (shape_.family != Family::qwen2_5_vl) {
      add(name + ".bias", {width}, WeightKind::norm_bias, width);
    }
  }

  void patch_embed() {
    const std::int64_t patch = patch_of(shape_.family);
    add("patch_embed.proj.weight", {shape_.width, 3, temporal_patch, patch, patch},
        WeightKind::linear, 3 * temporal_patch * patch * patch);
    if (shape_.family != Family::qwen3_vl) return;
    add("patch_embed.proj.bias", {shape_.width}, WeightKind::bias, shape_.width);
    add("pos_embed.weight", {position_rows, shape_.width}, WeightKind::positions, shape_.width);
  }

  void block(const std::string& name) {
    const std::int64_t width = shape_.width;
    const std::int64_t mlp = shape_.mlp_width;
    norm(name + ".norm1", width);
    linear(name + ".attn.qkv", 3 * width, width, WeightKind::query_key_value);
    linear(name + ".attn.proj", width, width);
    norm(name + ".norm2", width);
    switch (shape_.family) {
      case Family::qwen2_vl:
        linear(name + ".mlp.fc1", mlp, width);
        linear(name + ".mlp.fc2", width, mlp);
        break;
      case Family::qwen2_5_vl:
        linear(name + ".mlp.gate_proj", mlp, width);
        linear(name + ".mlp.up_proj", mlp, width);
        linear(name + ".mlp.down_proj", width, mlp);
        break;
      case Family::qwen3_vl:
        linear(name + ".mlp.linear_fc1", mlp, width);
        linear(name + ".mlp.linear_fc2", width, mlp);
        break;
    }
  }

  void merger(const std::string& name, std::int64_t norm_width, const MergerNames& names) {
    norm(name + "." + names.norm, norm_width);
    linear(name + "." + names.first, joined(), joined());
    linear(name + "." + names.second, shape_.out_width, joined());
  }

  const SynthShape& shape_;
  std::string prefix_;
  std::vector<SynthTensor> tensors_;
};

}  // namespace

// Sizes: config.json of the published models (reference notes on vision_config); `tiny` and
// `compact` are the sizes of tests/golden/towers.
const std::vector<SynthShape>& synth_shapes() {
  const std::vector<std::int64_t> full{7, 15, 23, 31};
  const std::vector<std::int64_t> low{5, 11, 17};
  const std::vector<std::int64_t> high{8, 16, 24};
  static const std::vector<SynthShape> shapes{
      {"qwen2-vl-tiny", Family::qwen2_vl, 4, 64, 4, 256, 48, {}, false},
      {"qwen2-vl-compact", Family::qwen2_vl, 3, 160, 2, 640, 256, {}, false},
      {"qwen2-vl-2b", Family::qwen2_vl, 32, 1280, 16, 5120, 1536, {}, true},
      {"qwen2-vl-7b", Family::qwen2_vl, 32, 1280, 16, 5120, 3584, {}, true},
      {"qwen2-vl-72b", Family::qwen2_vl, 32, 1280, 16, 5120, 8192, {}, true},
      {"qwen2.5-vl-tiny", Family::qwen2_5_vl, 4, 64, 4, 172, 48, {1, 3}, false},
      {"qwen2.5-vl-compact", Family::qwen2_5_vl, 3, 160, 2, 426, 256, {1}, false},
      {"qwen2.5-vl-3b", Family::qwen2_5_vl, 32, 1280, 16, 3420, 2048, full, true},
      {"qwen2.5-vl-7b", Family::qwen2_5_vl, 32, 1280, 16, 3420, 3584, full, true},
      {"qwen2.5-vl-32b", Family::qwen2_5_vl, 32, 1280, 16, 3456, 5120, full, true},
      {"qwen2.5-vl-72b", Family::qwen2_5_vl, 32, 1280, 16, 3456, 8192, full, true},
      {"qwen3-vl-tiny", Family::qwen3_vl, 4, 64, 4, 172, 48, {0, 1, 2}, false},
      {"qwen3-vl-compact", Family::qwen3_vl, 3, 144, 2, 538, 256, {0, 1}, false},
      {"qwen3-vl-2b", Family::qwen3_vl, 24, 1024, 16, 4096, 2048, low, true},
      {"qwen3-vl-4b", Family::qwen3_vl, 24, 1024, 16, 4096, 2560, low, true},
      {"qwen3-vl-8b", Family::qwen3_vl, 27, 1152, 16, 4304, 4096, high, true},
      {"qwen3-vl-30b-a3b", Family::qwen3_vl, 27, 1152, 16, 4304, 2048, high, true},
      {"qwen3-vl-32b", Family::qwen3_vl, 27, 1152, 16, 4304, 5120, high, true},
  };
  return shapes;
}

std::int64_t SynthTensor::elements() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  return count;
}

std::vector<SynthTensor> synth_tensors(const SynthShape& shape) {
  return TensorList(shape).list();
}

std::vector<std::string> synth_shape_names() {
  std::vector<std::string> names;
  for (const SynthShape& shape : synth_shapes()) names.emplace_back(shape.name);
  return names;
}

}  // namespace vtower
