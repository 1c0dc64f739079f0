#include "tower/patch_embed.h"

namespace vtower {
namespace {

at::Tensor take_kernel(WeightSource& weights, const VisionConfig& config) {
  const std::int64_t p = config.layout.patch_size;
  return weights
      .take("patch_embed.proj.weight",
            {config.width, PatchLayout::channels, config.layout.temporal_patch_size, p, p})
      .view({config.width, config.layout.row_width()});
}

}  // namespace

PatchEmbed::PatchEmbed(WeightSource& weights, const VisionConfig& config,
                       const Placement& placement, Bias bias)
    : proj_(take_kernel(weights, config),
            bias == Bias::present ? weights.take("patch_embed.proj.bias", {config.width})
                                  : at::Tensor(),
            placement) {}

at::Tensor PatchEmbed::operator()(NormalizedPatches&& patches, const StageTrace& trace) const {
  trace.note_norm_range(patches.values_);
  at::Tensor embedded = proj_(patches.values_);
  trace("patch_embed", embedded);
  return embedded;
}

}  // namespace vtower
