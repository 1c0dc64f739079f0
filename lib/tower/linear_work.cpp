#include "tower/linear_work.h"

namespace vtower {

double linear_work_per_row(const VisionConfig& config) {
  const auto width = static_cast<double>(config.width);
  const auto group =
      static_cast<double>(config.layout.merge_size * config.layout.merge_size);  // rows of a token
  const double mlp_matrices = config.family == Family::qwen2_5_vl ? 3 : 2;       // gated: three
  const double block =
      2 * width * (4 * width + mlp_matrices * static_cast<double>(config.mlp_width));
  const double merger =
      2 * width * (group * width + static_cast<double>(config.out_width));  // of one row
  return 2 * static_cast<double>(config.layout.row_width()) * width +
         static_cast<double>(config.depth) * block +
         static_cast<double>(1 + config.deepstack_blocks.size()) * merger;
}

}  // namespace vtower
