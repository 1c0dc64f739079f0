// Raw rows and their plan in buffers of fixed size and place, as a captured graph needs them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>

#include "checkpoint/vision_config.h"
#include "core/raw_patches.h"
#include "tower/placement.h"
#include "tower/plan_tensors.h"
#include "tower/seq_plan.h"

namespace vtower {

// One arena on the tower's device, and on a GPU its pinned twin on the host: a fill is one copy
// without waiting. The pixels in it are bytes that InputNorm alone can read. Not thread-safe.
class StagedInputs {
 public:
  // `longest_frame` bounds the rows of a frame sequence of every plan to come: captured kernels
  // launch for it.
  StagedInputs(const VisionConfig& config, const PlanCapacity& capacity, std::int64_t longest_frame,
               const Placement& placement);

  // Takes over a batch whose plan has exactly the capacity's sizes (pad_seq_plan). Rows of padding
  // keep the bytes of the fill before: nothing may depend on them. Throws Error{out_of_range} when
  // sizes or grids do not fit.
  void fill(const RawPatches& patches, SeqPlan plan);

  // Fills the pixels with tagged bytes, so that padding and all that a fill does not write are
  // known to be wrong.
  void poison_pixels();

  [[nodiscard]] const PlanTensors& plan() const noexcept { return tensors_; }
  [[nodiscard]] std::int64_t rows() const noexcept { return capacity_.rows; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return size_; }
  [[nodiscard]] at::ScalarType pixel_type() const { return pixels_.scalar_type(); }

 private:
  friend class InputNorm;
  struct Section {
    std::int64_t offset;
    std::int64_t bytes;
  };
  Section reserve(std::int64_t bytes);
  template <typename Element>
  at::Tensor view(Section section, std::vector<std::int64_t> shape) const;
  template <typename Element>
  void put(Section section, const std::vector<Element>& values);

  PlanCapacity capacity_;
  std::int64_t row_width_;
  PatchLayout layout_;
  std::int64_t size_ = 0;  // bytes of the arena
  Section frames_, windows_, order_, inverse_, positions_, taps_, weights_, raw_;
  at::Tensor device_;  // uint8 [size]
  at::Tensor host_;    // pinned on a GPU, else the same as device_
  at::Tensor pixels_;  // uint8 [rows, K], a view of device_
  SeqPlan seq_plan_;
  PlanTensors tensors_;
  std::optional<c10::Event> copied_;  // the last copy out of host_
};

}  // namespace vtower
