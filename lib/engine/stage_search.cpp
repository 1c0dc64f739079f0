#include "engine/stage_search.h"

#include <ATen/ops/isfinite.h>

namespace vtower {

bool is_per_token(const std::string& stage) {
  return stage == "merger" || stage.starts_with("deepstack.");
}

bool all_finite(const at::Tensor& values) {
  return at::isfinite(values).all().item<bool>();
}

NonFiniteWatch::NonFiniteWatch(const RawPatches& patches)
    : patches_(patches.rows()),
      tokens_(patches.rows() / (patches.layout().merge_size * patches.layout().merge_size)) {}

StageTrace NonFiniteWatch::trace() {
  return StageTrace([this](const std::string& stage, const at::Tensor& value) {
    if (first_) return;
    const std::int64_t rows = is_per_token(stage) ? tokens_ : patches_;
    if (!all_finite(value.narrow(0, 0, rows))) first_ = stage;
  });
}

}  // namespace vtower
