#include "tower/position_table.h"

namespace vtower {

PositionTable::PositionTable(WeightSource& weights, const VisionConfig& config,
                             const Placement& placement)
    : table_(weights
                 .take("pos_embed.weight",
                       {config.position_table_side * config.position_table_side, config.width})
                 .to(placement.device, placement.scalar_type())) {}

at::Tensor PositionTable::operator()(const PlanTensors& plan) const {
  const at::ScalarType wide = table_.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor sum;
  for (std::int64_t corner = 0; corner < 4; ++corner) {
    const at::Tensor rows = table_.index_select(0, plan.position_taps[corner])
                                .to(wide)
                                .mul_(plan.position_weights[corner].unsqueeze(1));
    sum = corner == 0 ? rows : sum.add_(rows);
  }
  return sum.to(table_.scalar_type());
}

}  // namespace vtower
