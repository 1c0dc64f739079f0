#include "core/raw_patch_picture.h"

#include <cassert>

namespace vtower {

std::int64_t RawPatchPicture::frame_count(const RawPatches& patches, std::size_t item) {
  assert(item < patches.grids().size());
  return patches.grids()[item].t * patches.layout().temporal_patch_size;
}

Frame RawPatchPicture::frame(const RawPatches& patches, std::size_t item, std::int64_t frame) {
  assert(frame >= 0 && frame < frame_count(patches, item));
  const PatchLayout& layout = patches.layout();
  const GridThw& grid = patches.grids()[item];
  const std::int64_t side = layout.patch_size;
  const std::int64_t merge = layout.merge_size;
  const std::int64_t depth = layout.temporal_patch_size;
  std::int64_t first_row = frame / depth * grid.h * grid.w;
  for (std::size_t i = 0; i < item; ++i) first_row += patches.grids()[i].patches();
  const std::uint8_t* group = patches.bytes(RawBytesKey()).data() + first_row * patches.row_width();

  Frame picture({grid.h * side, grid.w * side});
  for (std::int64_t y = 0; y < picture.size.height; ++y) {
    const std::int64_t patch_y = y / side;
    std::uint8_t* line = picture.row(y);
    for (std::int64_t x = 0; x < picture.size.width; ++x) {
      const std::int64_t patch_x = x / side;
      // Merge order: block row, block column, row in block, column in block.
      const std::int64_t row =
          (patch_y / merge * (grid.w / merge) + patch_x / merge) * merge * merge +
          patch_y % merge * merge + patch_x % merge;
      const std::uint8_t* patch = group + row * patches.row_width();
      for (std::int64_t c = 0; c < PatchLayout::channels; ++c) {
        *line++ = patch[((c * depth + frame % depth) * side + y % side) * side + x % side];
      }
    }
  }
  return picture;
}

}  // namespace vtower
