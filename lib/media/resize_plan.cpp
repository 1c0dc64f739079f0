#include "media/resize_plan.h"

#include <cassert>

#include "core/error.h"

namespace vtower {
namespace {

// Pillow 13 does the height first where that saves more lines than columns; ATen never does.
PassOrder pass_order(ImageSize source, ImageSize target, ResizeBackend backend) {
  const bool height_first = backend == ResizeBackend::pillow && target.height < source.height &&
                            source.height - target.height > 2 * (source.width - target.width);
  return height_first ? PassOrder::height_first : PassOrder::width_first;
}

}  // namespace

ResizePlan::ResizePlan(ImageSize source_size, ImageSize target_size, Resample kernel_kind,
                       ResizeBackend backend)
    : source(source_size),
      target(target_size),
      kernel(kernel_kind),
      order(pass_order(source_size, target_size, backend)),
      level(best_cpu_level()) {
  assert(source.height > 0 && source.width > 0 && target.height > 0 && target.width > 0);
  const bool torchvision = backend == ResizeBackend::torchvision;
  if (torchvision && kernel == Resample::lanczos) {
    throw Error(ErrorKind::unsupported, "resize",
                "resample 1 (Lanczos): torchvision 0.26 resizes tensors by nearest, bilinear or "
                "bicubic only; the profile hf-pil has Lanczos");
  }
  if (kernel == Resample::nearest) {
    const auto indices = torchvision ? nearest_indices_torchvision : nearest_indices_pillow;
    nearest_x = indices(source.width, target.width);
    nearest_y = indices(source.height, target.height);
    return;
  }
  const WeightRule rule = torchvision ? WeightRule::int16_adaptive : WeightRule::int32_22bit;
  if (source.width != target.width) {
    horizontal = axis_weights(source.width, target.width, kernel, rule);
  }
  if (source.height != target.height) {
    const bool square = source.height == source.width && target.height == target.width;
    vertical = square ? horizontal : axis_weights(source.height, target.height, kernel, rule);
  }
}

}  // namespace vtower
