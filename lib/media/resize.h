// Resizing of uint8 RGB, bit for bit as the profile's reference does it.
//
// Source: at::_upsample_*2d_aa on uint8 CPU tensors (torch 2.11.0, what torchvision 0.26.0 calls)
// and ImagingResample of Pillow 13.0.0.
#pragma once

#include <memory>

#include "core/frame.h"
#include "core/pixel_spec.h"
#include "core/raw_patches.h"

namespace vtower {

enum class ResizeBackend { torchvision, pillow };

// A plan for one (source, target, kernel, backend): weights computed once, used for every frame of
// a clip. Immutable, safe to share between threads.
class Resizer {
 public:
  Resizer(ImageSize source, ImageSize target, Resample kernel, ResizeBackend backend);
  ~Resizer();
  Resizer(Resizer&&) noexcept;

  // frame.size must be `source`. A frame already of the target size is returned as a copy.
  [[nodiscard]] Frame resize(const Frame& frame) const;

  // The same numbers, handed band by band to frame k of `scatter` (of the target size).
  void resize_into(const Frame& frame, PatchScatter& scatter, std::int64_t k) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace vtower
