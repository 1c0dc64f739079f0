// Raw patch rows in files: `pixels` uint8 [N, K] and `grid_thw` int64 [n, 3], in safetensors.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/raw_patches.h"

namespace vtower {

// The writing side; one of the readers that core/raw_patches.h names.
class RawPatchWriter {
 public:
  // All items of `parts` in order, with `metadata` in the header. Appears complete or not at all.
  static void write(const std::filesystem::path& path, std::span<const RawPatches* const> parts,
                    const std::map<std::string, std::string>& metadata);

  // SHA-256 of the rows, as in the reference data.
  static std::string sha256(const RawPatches& patches);
};

// Whether the file looks like a dump of raw patches: a readable safetensors file with uint8
// `pixels`. Damaged files are looked at no further.
bool is_raw_patch_dump(const std::filesystem::path& path);

// Rows of this or another tool, in merge order (which cannot be checked). Throws Error{unreadable}
// when `pixels` or `grid_thw` is missing, of another type or shape, or when
// K != 3 * temporal_patch_size * patch_size^2 of `layout`.
RawPatches read_raw_patch_dump(const std::filesystem::path& path, const PatchLayout& layout);

}  // namespace vtower
