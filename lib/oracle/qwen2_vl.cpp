// Qwen2-VL: LayerNorm, quick GELU, every frame attends to itself.
#include "oracle/pieces.h"

namespace vtower::oracle {

TowerResult encode_qwen2_vl(const Item& item, const Weights& weights, const VisionConfig& config,
                            StageLog& log) {
  at::Tensor h = patch_embed(item.normalized, weights);
  log.put("patch_embed", h);
  log.put("block_input", h);
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    const std::string stage = "block." + std::to_string(i);
    const at::Tensor attn =
        attention(layer_norm(h, weights, block + ".norm1", config.norm_eps), weights,
                  block + ".attn", config, item.places, frame_labels(item.places));
    log.put(stage + ".attn", attn);
    h = h + attn;
    const at::Tensor inner = linear(layer_norm(h, weights, block + ".norm2", config.norm_eps),
                                    weights, block + ".mlp.fc1");
    const at::Tensor mlp = linear(activate(inner, config.hidden_act), weights, block + ".mlp.fc2");
    log.put(stage + ".mlp", mlp);
    h = h + mlp;
    log.put(stage, h);
  }
  const at::Tensor joined =
      join_patches(layer_norm(h, weights, "merger.ln_q", config.norm_eps), config);
  const at::Tensor inner = activate(linear(joined, weights, "merger.mlp.0"), Activation::gelu);
  return {linear(inner, weights, "merger.mlp.2"), {}};
}

}  // namespace vtower::oracle
