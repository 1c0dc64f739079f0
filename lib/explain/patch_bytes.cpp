#include "explain/patch_bytes.h"

#include <algorithm>
#include <utility>

namespace vtower::explain {

RawPatches PatchBytes::rows_moved(const RawPatches& patches,
                                  const std::vector<std::int64_t>& source) {
  const std::span<const std::uint8_t> bytes = patches.bytes(RawBytesKey());
  const std::int64_t width = patches.row_width();
  ByteBuffer moved(bytes.size());
  for (std::size_t row = 0; row < source.size(); ++row) {
    std::copy_n(bytes.data() + source[row] * width, width,
                moved.data() + static_cast<std::int64_t>(row) * width);
  }
  return RawPatches::from_rows(std::move(moved), patches.grids(), patches.layout());
}

RawPatches PatchBytes::columns_moved(const RawPatches& patches,
                                     const std::vector<std::int64_t>& source) {
  const std::span<const std::uint8_t> bytes = patches.bytes(RawBytesKey());
  const auto width = static_cast<std::size_t>(patches.row_width());
  ByteBuffer moved(bytes.size());
  for (std::size_t start = 0; start < bytes.size(); start += width) {
    for (std::size_t i = 0; i < width; ++i) {
      moved.data()[start + i] = bytes[start + static_cast<std::size_t>(source[i])];
    }
  }
  return RawPatches::from_rows(std::move(moved), patches.grids(), patches.layout());
}

RawPatches PatchBytes::with_item(const RawPatches& patches, const GridThw& grid,
                                 std::uint8_t byte) {
  ByteBuffer bytes(static_cast<std::size_t>(grid.patches() * patches.row_width()));
  std::fill_n(bytes.data(), bytes.size(), byte);
  const RawPatches more = RawPatches::from_rows(std::move(bytes), {grid}, patches.layout());
  const std::vector<const RawPatches*> parts{&patches, &more};
  return RawPatches::concat(parts);
}

RawPatches PatchBytes::frames_moved(
    const RawPatches& patches,
    const std::function<std::int64_t(std::int64_t f, std::int64_t frames)>& frame_source) {
  const std::span<const std::uint8_t> bytes = patches.bytes(RawBytesKey());
  const PatchLayout& layout = patches.layout();
  const std::int64_t depth = layout.temporal_patch_size;
  const std::int64_t plane = layout.patch_size * layout.patch_size;
  const std::int64_t width = patches.row_width();
  ByteBuffer moved(bytes.size());
  std::int64_t first_row = 0;
  for (const GridThw& grid : patches.grids()) {
    const std::int64_t frames = grid.t * depth;
    for (std::int64_t f = 0; f < frames; ++f) {
      const std::int64_t from = std::clamp<std::int64_t>(frame_source(f, frames), 0, frames - 1);
      for (std::int64_t p = 0; p < grid.h * grid.w; ++p) {
        const std::int64_t to_row = first_row + f / depth * grid.h * grid.w + p;
        const std::int64_t from_row = first_row + from / depth * grid.h * grid.w + p;
        for (std::int64_t c = 0; c < PatchLayout::channels; ++c) {
          std::copy_n(bytes.data() + from_row * width + (c * depth + from % depth) * plane, plane,
                      moved.data() + to_row * width + (c * depth + f % depth) * plane);
        }
      }
    }
    first_row += grid.patches();
  }
  return RawPatches::from_rows(std::move(moved), patches.grids(), layout);
}

}  // namespace vtower::explain
