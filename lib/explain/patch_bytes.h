// Bytes of raw patches moved about, as a faulty loader would hand them over.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/raw_patches.h"

namespace vtower::explain {

class PatchBytes {
 public:
  // Row i of the result is row source[i] of `patches`; grids stay.
  static RawPatches rows_moved(const RawPatches& patches, const std::vector<std::int64_t>& source);

  // Within each row, value i of the result is value source[i].
  static RawPatches columns_moved(const RawPatches& patches,
                                  const std::vector<std::int64_t>& source);

  // The items, then one more of `grid` filled with `byte`.
  static RawPatches with_item(const RawPatches& patches, const GridThw& grid, std::uint8_t byte);

  // Each item's frames (temporal_patch_size of them in a row) as `frame_source` maps them: frame f
  // of an item of `frames` frames takes the place of frame_source(f, frames).
  static RawPatches frames_moved(
      const RawPatches& patches,
      const std::function<std::int64_t(std::int64_t f, std::int64_t frames)>& frame_source);
};

}  // namespace vtower::explain
