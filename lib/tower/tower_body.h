// What follows the patch embedding: one per family, in a file of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "checkpoint/vision_config.h"
#include "checkpoint/weight_source.h"
#include "tower/ledger.h"
#include "tower/linear.h"
#include "tower/plan_tensors.h"
#include "tower/stage_trace.h"

namespace vtower {

// What leaves the tower, in the tower's dtype; token order is that of the input rows.
struct TowerOutput {
  at::Tensor embeddings;              // [M, out]
  std::vector<at::Tensor> deepstack;  // each [M, out], in block order; qwen3_vl
  Ledger ledger;
};

// A body never sees pixels. Immutable after construction, safe to share between threads.
class TowerBody {
 public:
  virtual ~TowerBody() = default;

  // x: [N, D], the patch embedding, which the body may overwrite.
  [[nodiscard]] virtual TowerOutput forward(at::Tensor x, const PlanTensors& plan,
                                            const StageTrace& trace) const = 0;
};

std::unique_ptr<const TowerBody> make_qwen2_vl_body(WeightSource& weights,
                                                    const VisionConfig& config,
                                                    const Placement& placement);
std::unique_ptr<const TowerBody> make_qwen2_5_vl_body(WeightSource& weights,
                                                      const VisionConfig& config,
                                                      const Placement& placement);
std::unique_ptr<const TowerBody> make_qwen3_vl_body(WeightSource& weights,
                                                    const VisionConfig& config,
                                                    const Placement& placement);

}  // namespace vtower
