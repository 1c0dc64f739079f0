#include "core/raw_patches.h"

#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/patch_band.h"

namespace vtower {
namespace {

std::string text(ImageSize size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

}  // namespace

RawPatches::RawPatches(ByteBuffer bytes, std::vector<GridThw> grids, const PatchLayout& layout,
                       std::int64_t rows)
    : bytes_(std::move(bytes)), grids_(std::move(grids)), layout_(layout), rows_(rows) {}

RawPatches RawPatches::gather(std::span<const Frame> frames, const PatchLayout& layout) {
  if (frames.empty()) throw Error(ErrorKind::out_of_range, "raw_patches", "an item has no frame");
  PatchScatter scatter(frames.front().size, static_cast<std::int64_t>(frames.size()), layout);
  for (std::size_t k = 0; k < frames.size(); ++k) {
    if (frames[k].size != frames.front().size) {
      throw Error(ErrorKind::out_of_range, "raw_patches",
                  "frame " + std::to_string(k) + " is " + text(frames[k].size) +
                      ", the first one is " + text(frames.front().size));
    }
    for (std::int64_t y = 0; y < frames[k].size.height; y += layout.patch_size) {
      scatter.put_band(static_cast<std::int64_t>(k), y, frames[k].row(y), 3 * frames[k].size.width);
    }
  }
  return std::move(scatter).finish();
}

RawPatches RawPatches::from_rows(ByteBuffer rows, std::vector<GridThw> grids,
                                 const PatchLayout& layout) {
  const std::int64_t merge = layout.merge_size;
  std::int64_t expected = 0;
  for (const GridThw& grid : grids) {
    // Sides beyond this cannot come from a picture and would overflow the product.
    constexpr std::int64_t largest_side = 1 << 20;
    const bool sound = grid.t > 0 && grid.h > 0 && grid.w > 0 && grid.t <= largest_side &&
                       grid.h <= largest_side && grid.w <= largest_side && grid.h % merge == 0 &&
                       grid.w % merge == 0;
    if (!sound) {
      throw Error(ErrorKind::unreadable, "raw_patches",
                  "grid_thw [" + std::to_string(grid.t) + ", " + std::to_string(grid.h) + ", " +
                      std::to_string(grid.w) + "]: expected positive sides divisible by " +
                      std::to_string(merge));
    }
    expected += grid.patches();
  }
  const auto width = static_cast<std::size_t>(layout.row_width());
  if (rows.size() != static_cast<std::size_t>(expected) * width) {
    throw Error(ErrorKind::unreadable, "raw_patches",
                "grid_thw asks for " + std::to_string(expected) + " rows of " +
                    std::to_string(width) + " bytes, the data hold " + std::to_string(rows.size()) +
                    " bytes");
  }
  return RawPatches(std::move(rows), std::move(grids), layout, expected);
}

RawPatches RawPatches::concat(std::span<const RawPatches* const> parts) {
  assert(!parts.empty());
  std::size_t size = 0;
  std::int64_t rows = 0;
  std::vector<GridThw> grids;
  for (const RawPatches* part : parts) {
    assert(part->layout_ == parts.front()->layout_);
    size += part->bytes_.size();
    rows += part->rows_;
    grids.insert(grids.end(), part->grids_.begin(), part->grids_.end());
  }
  ByteBuffer bytes(size);
  std::uint8_t* out = bytes.data();
  for (const RawPatches* part : parts) {
    std::memcpy(out, part->bytes_.data(), part->bytes_.size());
    out += part->bytes_.size();
  }
  return RawPatches(std::move(bytes), std::move(grids), parts.front()->layout_, rows);
}

RawPatches RawPatches::slice(std::size_t first, std::size_t count) const {
  assert(first + count <= grids_.size());
  std::int64_t skipped = 0;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < first; ++i) skipped += grids_[i].patches();
  for (std::size_t i = first; i < first + count; ++i) rows += grids_[i].patches();
  const auto width = static_cast<std::size_t>(layout_.row_width());
  ByteBuffer bytes(static_cast<std::size_t>(rows) * width);
  std::memcpy(bytes.data(), bytes_.data() + static_cast<std::size_t>(skipped) * width,
              bytes.size());
  const auto begin = grids_.begin() + static_cast<std::ptrdiff_t>(first);
  return RawPatches(std::move(bytes), {begin, begin + static_cast<std::ptrdiff_t>(count)}, layout_,
                    rows);
}

RawPatches RawPatches::padded(std::int64_t rows, std::uint8_t filler) const {
  assert(rows >= rows_);
  ByteBuffer bytes(static_cast<std::size_t>(rows * layout_.row_width()));
  std::memcpy(bytes.data(), bytes_.data(), bytes_.size());
  std::memset(bytes.data() + bytes_.size(), filler, bytes.size() - bytes_.size());
  return RawPatches(std::move(bytes), grids_, layout_, rows);
}

PatchScatter::PatchScatter(ImageSize size, std::int64_t frames, const PatchLayout& layout)
    : size_(size), frames_(frames), layout_(layout) {
  const std::int64_t factor = layout.factor();
  if (frames < 1 || size.height < 1 || size.width < 1 || size.height % factor != 0 ||
      size.width % factor != 0) {
    throw Error(ErrorKind::out_of_range, "raw_patches",
                std::to_string(frames) + " frames of " + text(size) +
                    ": expected at least one frame with sides that are multiples of " +
                    std::to_string(factor));
  }
  const std::int64_t groups =
      (frames + layout.temporal_patch_size - 1) / layout.temporal_patch_size;
  grid_ = {groups, size.height / layout.patch_size, size.width / layout.patch_size};
  bytes_ = ByteBuffer(static_cast<std::size_t>(grid_.patches() * layout.row_width()));
}

// Where the first pixel of line y of frame k lands, in channel 0 of the patch in column 0.
std::uint8_t* PatchScatter::line_start(std::int64_t k, std::int64_t y) noexcept {
  const std::int64_t p = layout_.patch_size;
  const std::int64_t m = layout_.merge_size;
  const std::int64_t patch_y = y / p;
  const std::int64_t row = (k / layout_.temporal_patch_size) * grid_.h * grid_.w +
                           (patch_y / m) * m * grid_.w + (patch_y % m) * m;
  return bytes_.data() + row * layout_.row_width() +
         ((k % layout_.temporal_patch_size) * p + y % p) * p;
}

void PatchScatter::put_band(std::int64_t k, std::int64_t y, const std::uint8_t* rgb,
                            std::int64_t line_stride) {
  assert(k >= 0 && k < frames_ && y >= 0 && y < size_.height && y % layout_.patch_size == 0);
  const std::int64_t t = layout_.temporal_patch_size;
  // The last frame also fills the places of those that its group lacks, while it is in cache.
  put_patch_band({.rgb = rgb,
                  .line_stride = line_stride,
                  .first = line_start(k, y),
                  .patches = grid_.w,
                  .patch_size = layout_.patch_size,
                  .merge_size = layout_.merge_size,
                  .row_width = layout_.row_width(),
                  .channel_stride = t * layout_.patch_size * layout_.patch_size,
                  .copies = k == frames_ - 1 ? t - k % t : 1});
}

RawPatches PatchScatter::finish() && {
  const std::int64_t rows = grid_.patches();
  return RawPatches(std::move(bytes_), {grid_}, layout_, rows);
}

}  // namespace vtower
