// The size that a frame is resized to.
//
// Source: smart_resize of Qwen2VLImageProcessor (one frame) and of Qwen3VLVideoProcessor (a whole
// clip), transformers 5.17.0. IEEE double throughout, rounding half to even.
#pragma once

#include <cstdint>

#include "core/frame.h"
#include "core/pixel_spec.h"

namespace vtower {

// For one frame. Throws Error{aspect_ratio} when long side / short side > 200.
ImageSize smart_resize_frame(ImageSize source, std::int64_t factor, const PixelLimits& limits);

// For a clip of `frames` frames under limits on its whole volume. Throws Error{aspect_ratio}, and
// Error{out_of_range} when frames < temporal_patch_size (the caller repeats a single frame first).
ImageSize smart_resize_clip(std::int64_t frames, ImageSize source, std::int64_t factor,
                            std::int64_t temporal_patch_size, const PixelLimits& limits);

}  // namespace vtower
