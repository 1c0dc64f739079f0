// Faults of how a picture became pixels.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/pixel_spec.h"
#include "explain/fault.h"
#include "media/media_options.h"

namespace vtower::explain {

// The file that an item was made from, and how.
struct MediaSource {
  std::filesystem::path path;
  PixelSpec spec;
  MediaOptions options;
};

// For a batch of the items made from `sources`, each decoded anew in a faulty way: another resize
// kernel, no antialiasing, resized twice, orientation ignored, transparency dropped or on black.
// Whatever cannot show on these files is left out. Empty where an item has no source.
std::vector<Fault> media_faults(const std::vector<std::optional<MediaSource>>& sources);

}  // namespace vtower::explain
