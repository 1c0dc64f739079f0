// Pixels outside of the tower: bytes, in patch rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/byte_buffer.h"
#include "core/frame.h"
#include "core/grid_thw.h"
#include "core/patch_layout.h"

namespace vtower {

class InputNorm;        // lib/tower: the tower's own normalisation
class StagedInputs;     // lib/tower: the same bytes on a device, for InputNorm alone
class RawPatchWriter;   // lib/core/raw_patch_dump.h: dumps and hashes of the raw rows
class RawPatchPicture;  // lib/core/raw_patch_picture.h: frames for people to look at
namespace explain {
class PatchBytes;  // lib/explain: bytes in a faulty order
}
namespace oracle {
class PixelNorm;  // lib/oracle: the second, independent writing of the normalisation
}

// Permission to read the bytes of RawPatches. Only the classes named here can make one, so no code
// can take raw bytes for normalised pixels.
class RawBytesKey {
  RawBytesKey() = default;
  friend class InputNorm;
  friend class StagedInputs;
  friend class RawPatchWriter;
  friend class RawPatchPicture;
  friend class oracle::PixelNorm;
  friend class explain::PatchBytes;
};

// uint8 rows [N, K] in merge order (core/patch_layout.h) and one GridThw per item, N = sum t*h*w.
// There is no way to make one from floating point values.
class RawPatches {
 public:
  // One item from its decoded, resized frames, all of one size with sides that are multiples of
  // layout.factor(). A count that is no multiple of temporal_patch_size is completed by repeating
  // the last frame (a still image is repeated). Throws Error{out_of_range} otherwise.
  static RawPatches gather(std::span<const Frame> frames, const PatchLayout& layout);

  // Rows that already exist, from a dump. Throws Error{unreadable} unless
  // rows.size() == sum t*h*w * K and every grid is positive and divisible by merge_size.
  static RawPatches from_rows(ByteBuffer rows, std::vector<GridThw> grids,
                              const PatchLayout& layout);

  // The items of all parts in order; all parts must have one layout.
  static RawPatches concat(std::span<const RawPatches* const> parts);

  // The items [first, first + count) as their own rows (a copy).
  [[nodiscard]] RawPatches slice(std::size_t first, std::size_t count) const;

  // The same items followed by rows of `filler` bytes that belong to none, `rows` rows in all.
  [[nodiscard]] RawPatches padded(std::int64_t rows, std::uint8_t filler) const;

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t row_width() const noexcept { return layout_.row_width(); }
  [[nodiscard]] const std::vector<GridThw>& grids() const noexcept { return grids_; }
  [[nodiscard]] const PatchLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::span<const std::uint8_t> bytes(RawBytesKey) const noexcept {
    return bytes_.span();
  }

 private:
  friend class PatchScatter;
  RawPatches(ByteBuffer bytes, std::vector<GridThw> grids, const PatchLayout& layout,
             std::int64_t rows);

  ByteBuffer bytes_;
  std::vector<GridThw> grids_;
  PatchLayout layout_;
  std::int64_t rows_ = 0;
};

// Fills the rows of one item band by band, so that a resizer can hand over its lines while they are
// still in cache. Every band of every frame must be put exactly once before finish(). Bands may
// come in any order and from several threads.
class PatchScatter {
 public:
  // `frames` frames of `size`; throws Error{out_of_range} unless both sides are positive multiples
  // of layout.factor() and frames >= 1.
  PatchScatter(ImageSize size, std::int64_t frames, const PatchLayout& layout);

  // Lines in a band: patch_size.
  [[nodiscard]] std::int64_t band_lines() const noexcept { return layout_.patch_size; }

  // The band of frame k that begins with line y, a multiple of band_lines(): size.width interleaved
  // RGB pixels a line, lines line_stride bytes apart. The last frame is repeated up to a multiple
  // of temporal_patch_size.
  void put_band(std::int64_t k, std::int64_t y, const std::uint8_t* rgb, std::int64_t line_stride);

  // The rows, once every band was put.
  [[nodiscard]] RawPatches finish() &&;

 private:
  [[nodiscard]] std::uint8_t* line_start(std::int64_t k, std::int64_t y) noexcept;

  ImageSize size_;
  std::int64_t frames_;
  PatchLayout layout_;
  GridThw grid_;
  ByteBuffer bytes_;
};

}  // namespace vtower
