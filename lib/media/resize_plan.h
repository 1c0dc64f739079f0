// Everything that a resize of one size to another needs to know, computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/frame.h"
#include "core/pixel_spec.h"
#include "media/resize.h"
#include "media/resize_kernels.h"
#include "media/resize_weights.h"

namespace vtower {

enum class PassOrder { width_first, height_first };

struct ResizePlan {
  // Throws Error{unsupported} for Lanczos with the torchvision back end, which the reference
  // (torchvision 0.26) does not have on tensors.
  ResizePlan(ImageSize source_size, ImageSize target_size, Resample kernel_kind,
             ResizeBackend backend);

  ImageSize source;
  ImageSize target;
  Resample kernel = Resample::bicubic;
  PassOrder order = PassOrder::width_first;
  AxisWeights horizontal;
  AxisWeights vertical;
  std::vector<std::int32_t> nearest_x;  // of Resample::nearest, which uses no weights
  std::vector<std::int32_t> nearest_y;
  CpuLevel level = CpuLevel::plain;

  [[nodiscard]] bool identity() const noexcept { return source == target; }
};

}  // namespace vtower
