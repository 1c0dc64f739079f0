#include "tower/ledger.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/stack.h>

#include "core/patch_layout.h"
#include "tower/stage_trace.h"

namespace vtower {

std::vector<std::string> declared_stages(const VisionConfig& config) {
  std::vector<std::string> stages{"normalized", "patch_embed"};
  if (config.family == Family::qwen3_vl) stages.emplace_back("pos_embed");
  stages.emplace_back("block_input");
  std::size_t level = 0;
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "block." + std::to_string(i);
    stages.insert(stages.end(), {block + ".attn", block + ".mlp", block});
    for (const std::int64_t after : config.deepstack_blocks) {
      if (after == i) stages.push_back("deepstack." + std::to_string(level++));
    }
  }
  stages.emplace_back("merger");
  return stages;
}

void StageTrace::note_norm_range(const at::Tensor& values) const {
  if (ledger_ == nullptr) return;
  const at::Tensor channels =
      values.view({values.size(0), PatchLayout::channels, values.size(1) / PatchLayout::channels});
  ledger_->norm_range =
      at::stack({at::amin(channels, {0, 2}), at::amax(channels, {0, 2})}).to(at::kFloat);
}

}  // namespace vtower
