// Qwen2.5-VL: RMSNorm, gated MLP, attention within windows except in a few blocks.
// Source: Qwen2_5_VisionTransformerPretrainedModel of transformers 5.17.0.
#include "tower/norms.h"
#include "tower/patch_merger.h"
#include "tower/tower_body.h"
#include "tower/vision_block.h"
#include "tower/vision_mlp.h"

namespace vtower {
namespace {

class Qwen25VlBody final : public TowerBody {
 public:
  Qwen25VlBody(WeightSource& weights, const VisionConfig& config, const Placement& placement)
      : rotary_(config.head_dim(), config.rope_theta, placement),
        merger_(weights, "merger", {"ln_q", "mlp.0", "mlp.2"}, config, placement,
                config.merger_norm) {
    for (std::int64_t i = 0; i < config.depth; ++i) {
      const std::string name = "blocks." + std::to_string(i);
      blocks_.emplace_back(weights, name, config, placement,
                           GatedMlp(weights, name, config, placement));
      full_attention_.push_back(config.is_full_attention(i));
    }
  }

  TowerOutput forward(at::Tensor x, const PlanTensors& plan,
                      const StageTrace& trace) const override {
    const Rotation rotation = rotary_(plan.rope_positions, trace);  // already in window order
    // The rows of a token move together.
    x = x.view({plan.window_order.size(0), -1}).index_select(0, plan.window_order).view_as(x);
    trace("block_input", x);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i](x, full_attention_[i] ? plan.frames : plan.windows, rotation, trace);
    }
    at::Tensor embeddings = merger_(x).index_select(0, plan.window_inverse);
    trace("merger", embeddings);
    return {std::move(embeddings), {}, {}};
  }

 private:
  RotaryEmbedding rotary_;
  std::vector<VisionBlock<RmsNorm, GatedMlp>> blocks_;
  std::vector<bool> full_attention_;
  PatchMerger<RmsNorm> merger_;
};

}  // namespace

std::unique_ptr<const TowerBody> make_qwen2_5_vl_body(WeightSource& weights,
                                                      const VisionConfig& config,
                                                      const Placement& placement) {
  return std::make_unique<Qwen25VlBody>(weights, config, placement);
}

}  // namespace vtower
