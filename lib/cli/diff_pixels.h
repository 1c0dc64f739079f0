// What went into two dumps, read back as raw patches.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/raw_patches.h"
#include "explain/media_faults.h"

namespace vtower::cli {

// One item's pixels.
struct PixelItem {
  std::optional<std::string> key;  // of a map: the item's key in the dumps
  std::string name;                // for reports
  std::function<RawPatches()> load;
  std::optional<explain::MediaSource> media = std::nullopt;
};

struct DiffPixels {
  std::vector<PixelItem> items;    // in the order of the file or folder; of a map: of its keys
  std::vector<std::string> notes;  // "pixel_values: normalised with CLIP constants ..."
};

// `path`: a picture, clip or folder of them (profile vllm), a dump of raw patches, normalised pixel
// values of another tool whose bytes a lattice fit gives back, or a JSON object from item keys to
// such files, `FILE#2` for the third item of a dump. Throws Error naming the file; not_comparable
// for pixel values that no known normalisation makes.
DiffPixels read_diff_pixels(const std::filesystem::path& path, const Checkpoint& checkpoint);

}  // namespace vtower::cli
