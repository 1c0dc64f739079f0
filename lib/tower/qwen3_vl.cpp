// Qwen3-VL: learned positions, LayerNorm, plain MLP, deepstack mergers.
// Source: Qwen3VLVisionModel of transformers 5.17.0.
#include <algorithm>
#include <optional>

#include "tower/norms.h"
#include "tower/patch_merger.h"
#include "tower/position_table.h"
#include "tower/tower_body.h"
#include "tower/vision_block.h"
#include "tower/vision_mlp.h"

namespace vtower {
namespace {

const MergerNames merger_names{"norm", "linear_fc1", "linear_fc2"};

class Qwen3VlBody final : public TowerBody {
 public:
  Qwen3VlBody(WeightSource& weights, const VisionConfig& config, const Placement& placement)
      : positions_(weights, config, placement),
        rotary_(config.head_dim(), config.rope_theta, placement),
        merger_(weights, "merger", merger_names, config, placement, config.merger_norm),
        deepstack_blocks_(config.deepstack_blocks) {
    for (std::int64_t i = 0; i < config.depth; ++i) {
      const std::string name = "blocks." + std::to_string(i);
      blocks_.emplace_back(
          weights, name, config, placement,
          PlainMlp(weights, name, {"linear_fc1", "linear_fc2"}, config, placement));
    }
    for (std::size_t j = 0; j < deepstack_blocks_.size(); ++j) {
      deepstack_mergers_.emplace_back(weights, "deepstack_merger_list." + std::to_string(j),
                                      merger_names, config, placement, config.deepstack_norm);
    }
  }

  TowerOutput forward(at::Tensor x, const PlanTensors& plan,
                      const StageTrace& trace) const override {
    const at::Tensor positions = positions_(plan);
    trace("pos_embed", positions);
    x.add_(positions);
    const Rotation rotation = rotary_(plan.rope_positions, trace);
    trace("block_input", x);
    TowerOutput output;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i](x, plan.frames, rotation, trace);
      if (const auto* merger = deepstack_merger_after(i)) {
        output.deepstack.push_back((*merger)(x));
        trace("deepstack." + std::to_string(output.deepstack.size() - 1), output.deepstack.back());
      }
    }
    output.embeddings = merger_(x);
    trace("merger", output.embeddings);
    return output;
  }

 private:
  // The configuration's list tells which merger belongs to a block; outputs come in block order.
  [[nodiscard]] const PatchMerger<LayerNorm>* deepstack_merger_after(std::size_t block) const {
    const auto found = std::find(deepstack_blocks_.begin(), deepstack_blocks_.end(),
                                 static_cast<std::int64_t>(block));
    if (found == deepstack_blocks_.end()) return nullptr;
    return &deepstack_mergers_[static_cast<std::size_t>(found - deepstack_blocks_.begin())];
  }

  PositionTable positions_;
  RotaryEmbedding rotary_;
  std::vector<VisionBlock<LayerNorm, PlainMlp>> blocks_;
  PatchMerger<LayerNorm> merger_;
  std::vector<std::int64_t> deepstack_blocks_;
  std::vector<PatchMerger<LayerNorm>> deepstack_mergers_;
};

}  // namespace

std::unique_ptr<const TowerBody> make_qwen3_vl_body(WeightSource& weights,
                                                    const VisionConfig& config,
                                                    const Placement& placement) {
  return std::make_unique<Qwen3VlBody>(weights, config, placement);
}

}  // namespace vtower
