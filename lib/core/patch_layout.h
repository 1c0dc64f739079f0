// How pixels are laid out in a row of patches.
#pragma once

#include <cstdint>

namespace vtower {

// A row holds one patch, slowest to fastest: channel (3), frame in the temporal group, y, x.
// Rows come in merge order: temporal group, block row, block column, row in block, column in block,
// so that each run of merge_size^2 rows becomes one token.
// Source: Qwen2VLImageProcessor of transformers 5.17.0.
struct PatchLayout {
  std::int64_t patch_size = 0;           // side of a patch in pixels
  std::int64_t temporal_patch_size = 0;  // frames in a temporal group
  std::int64_t merge_size = 0;           // side of a token in patches

  static constexpr std::int64_t channels = 3;

  // K, the length of a row in values.
  [[nodiscard]] constexpr std::int64_t row_width() const noexcept {
    return channels * temporal_patch_size * patch_size * patch_size;
  }
  // Both sides of a resized frame are multiples of this many pixels.
  [[nodiscard]] constexpr std::int64_t factor() const noexcept { return patch_size * merge_size; }

  friend constexpr bool operator==(const PatchLayout&, const PatchLayout&) = default;
};

}  // namespace vtower
