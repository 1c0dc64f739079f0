// Raw patch rows turned back into the frames that they were gathered from, for people to look at.
#pragma once

#include "core/raw_patches.h"

namespace vtower {

class RawPatchPicture {
 public:
  // Frames of an item: grid.t * temporal_patch_size, those that only complete a group included (a
  // still picture counts as many as a group holds).
  static std::int64_t frame_count(const RawPatches& patches, std::size_t item);

  // Frame `frame` of item `item`, both of which must exist (asserted): the inverse of
  // RawPatches::gather().
  static Frame frame(const RawPatches& patches, std::size_t item, std::int64_t frame);
};

}  // namespace vtower
