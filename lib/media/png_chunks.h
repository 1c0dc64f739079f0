// The chunks of a PNG file, walked without decoding the picture.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/frame.h"

namespace vtower {

struct PngSummary {
  ImageSize size;
  int bit_depth = 0;
  int colour_type = 0;  // PNG_COLOR_TYPE_*
  bool animated = false;
  bool colour_profile = false;  // iCCP
  bool gamma = false;           // gAMA
  std::optional<std::int64_t> orientation;
};

// Walks from the signature to IEND. Throws Error{truncated} where the file ends earlier, and
// Error{unreadable} for a first chunk other than IHDR or a failed checksum of a chunk that is read
// here (the others are checked when the picture is decoded).
PngSummary summarize_png(std::span<const std::uint8_t> bytes);

}  // namespace vtower
