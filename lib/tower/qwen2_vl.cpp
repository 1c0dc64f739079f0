// Qwen2-VL: LayerNorm, plain MLP, attention within each frame.
// Source: Qwen2VisionTransformerPretrainedModel of transformers 5.17.0.
#include "tower/norms.h"
#include "tower/patch_merger.h"
#include "tower/tower_body.h"
#include "tower/vision_block.h"
#include "tower/vision_mlp.h"

namespace vtower {
namespace {

class Qwen2VlBody final : public TowerBody {
 public:
  Qwen2VlBody(WeightSource& weights, const VisionConfig& config, const Placement& placement)
      : rotary_(config.head_dim(), config.rope_theta, placement),
        merger_(weights, "merger", {"ln_q", "mlp.0", "mlp.2"}, config, placement,
                config.merger_norm) {
    for (std::int64_t i = 0; i < config.depth; ++i) {
      const std::string name = "blocks." + std::to_string(i);
      blocks_.emplace_back(weights, name, config, placement,
                           PlainMlp(weights, name, {"fc1", "fc2"}, config, placement));
    }
  }

  TowerOutput forward(at::Tensor x, const PlanTensors& plan,
                      const StageTrace& trace) const override {
    const Rotation rotation = rotary_(plan.rope_positions, trace);
    trace("block_input", x);
    for (const auto& block : blocks_) block(x, plan.frames, rotation, trace);
    at::Tensor embeddings = merger_(x);
    trace("merger", embeddings);
    return {std::move(embeddings), {}, {}};
  }

 private:
  RotaryEmbedding rotary_;
  std::vector<VisionBlock<LayerNorm, PlainMlp>> blocks_;
  PatchMerger<LayerNorm> merger_;
};

}  // namespace

std::unique_ptr<const TowerBody> make_qwen2_vl_body(WeightSource& weights,
                                                    const VisionConfig& config,
                                                    const Placement& placement) {
  return std::make_unique<Qwen2VlBody>(weights, config, placement);
}

}  // namespace vtower
