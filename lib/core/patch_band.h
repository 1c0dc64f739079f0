// Splitting a band of RGB lines into the rows of the patches that it holds.
#pragma once

#include <cstdint>

namespace vtower {

// The patch_size lines that one row of patches is cut from, and where they land. Patch x has its
// red plane of patch_size^2 bytes at
// first + (x / merge_size * merge_size^2 + x % merge_size) * row_width, its green and blue planes
// channel_stride and 2 * channel_stride behind it.
struct PatchBand {
  const std::uint8_t* rgb = nullptr;
  std::int64_t line_stride = 0;  // bytes from line to line, at least 3 * patches * patch_size
  std::uint8_t* first = nullptr;
  std::int64_t patches = 0;  // a multiple of merge_size
  std::int64_t patch_size = 0;
  std::int64_t merge_size = 0;
  std::int64_t row_width = 0;
  std::int64_t channel_stride = 0;
  std::int64_t copies = 1;  // how often each plane is written, one behind the other
};

// Reads and writes nothing else than the above.
void put_patch_band(const PatchBand& band);

// The definition, whatever the CPU; tests compare the two.
void put_patch_band_plain(const PatchBand& band);

}  // namespace vtower
