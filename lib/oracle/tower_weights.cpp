#include "oracle/tower_weights.h"

#include <utility>

namespace vtower::oracle {

TowerWeights::TowerWeights(WeightSource source, const VisionConfig& config)
    : source_(std::move(source)) {
  switch (config.family) {
    case Family::qwen2_vl: take_qwen2_vl(config); break;
    case Family::qwen2_5_vl: take_qwen2_5_vl(config); break;
    case Family::qwen3_vl: take_qwen3_vl(config); break;
  }
  source_.finish();
}

at::Tensor TowerWeights::get(const std::string& name, at::ScalarType type) const {
  return tensors_.at(name).to(type);
}

void TowerWeights::take(const std::string& name, std::vector<std::int64_t> shape) {
  tensors_.emplace(name, source_.take_qkv(name, std::move(shape)));
}

void TowerWeights::take_linear(const std::string& name, std::int64_t out, std::int64_t in) {
  take(name + ".weight", {out, in});
  take(name + ".bias", {out});
}

void TowerWeights::take_layer_norm(const std::string& name, std::int64_t width) {
  take(name + ".weight", {width});
  take(name + ".bias", {width});
}

void TowerWeights::take_patch_embed(const VisionConfig& config) {
  const PatchLayout& layout = config.layout;
  take("patch_embed.proj.weight", {config.width, PatchLayout::channels, layout.temporal_patch_size,
                                   layout.patch_size, layout.patch_size});
}

void TowerWeights::take_attention(const std::string& block, std::int64_t width) {
  take_linear(block + ".attn.qkv", 3 * width, width);
  take_linear(block + ".attn.proj", width, width);
}

void TowerWeights::take_qwen2_vl(const VisionConfig& config) {
  const std::int64_t joined = config.width * config.layout.merge_size * config.layout.merge_size;
  take_patch_embed(config);
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    take_layer_norm(block + ".norm1", config.width);
    take_attention(block, config.width);
    take_layer_norm(block + ".norm2", config.width);
    take_linear(block + ".mlp.fc1", config.mlp_width, config.width);
    take_linear(block + ".mlp.fc2", config.width, config.mlp_width);
  }
  take_layer_norm("merger.ln_q", config.width);
  take_linear("merger.mlp.0", joined, joined);
  take_linear("merger.mlp.2", config.out_width, joined);
}

void TowerWeights::take_qwen2_5_vl(const VisionConfig& config) {
  const std::int64_t joined = config.width * config.layout.merge_size * config.layout.merge_size;
  take_patch_embed(config);
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    take(block + ".norm1.weight", {config.width});
    take_attention(block, config.width);
    take(block + ".norm2.weight", {config.width});
    take_linear(block + ".mlp.gate_proj", config.mlp_width, config.width);
    take_linear(block + ".mlp.up_proj", config.mlp_width, config.width);
    take_linear(block + ".mlp.down_proj", config.width, config.mlp_width);
  }
  take("merger.ln_q.weight", {config.width});
  take_linear("merger.mlp.0", joined, joined);
  take_linear("merger.mlp.2", config.out_width, joined);
}

void TowerWeights::take_qwen3_vl(const VisionConfig& config) {
  const std::int64_t joined = config.width * config.layout.merge_size * config.layout.merge_size;
  const std::int64_t side = config.position_table_side;
  take_patch_embed(config);
  take("patch_embed.proj.bias", {config.width});
  take("pos_embed.weight", {side * side, config.width});
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    take_layer_norm(block + ".norm1", config.width);
    take_attention(block, config.width);
    take_layer_norm(block + ".norm2", config.width);
    take_linear(block + ".mlp.linear_fc1", config.mlp_width, config.width);
    take_linear(block + ".mlp.linear_fc2", config.width, config.mlp_width);
  }
  take_layer_norm("merger.norm", config.width);
  take_linear("merger.linear_fc1", joined, joined);
  take_linear("merger.linear_fc2", config.out_width, joined);
  for (std::size_t j = 0; j < config.deepstack_blocks.size(); ++j) {
    const std::string merger = "deepstack_merger_list." + std::to_string(j);
    take_layer_norm(merger + ".norm", joined);
    take_linear(merger + ".linear_fc1", joined, joined);
    take_linear(merger + ".linear_fc2", config.out_width, joined);
  }
}

}  // namespace vtower::oracle
