// Where in a pass values stop being numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "core/raw_patches.h"
#include "tower/stage_trace.h"

namespace vtower {

// What a second, watched pass over items showed.
struct StageSearch {
  std::optional<std::string> first;  // stage with a NaN or an infinity; none: all were finite
  std::string pass;                  // the pass that was watched: "alone", "alone, uncaptured"
};

// Whether the rows of a stage are tokens (of merge_size^2 patches) rather than patches.
bool is_per_token(const std::string& stage);

bool all_finite(const at::Tensor& values);

// Looks at the rows of the items, which come first in every stage: padding behind them is no part
// of any result. Must outlive the trace.
class NonFiniteWatch {
 public:
  explicit NonFiniteWatch(const RawPatches& patches);
  [[nodiscard]] StageTrace trace();
  [[nodiscard]] const std::optional<std::string>& first() const noexcept { return first_; }

 private:
  std::int64_t patches_;
  std::int64_t tokens_;
  std::optional<std::string> first_;
};

}  // namespace vtower
