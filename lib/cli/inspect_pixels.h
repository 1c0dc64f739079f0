// What the pixels in a dump are, by lattice fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/record.h"
#include "cli/terminal.h"
#include "core/dtype.h"

namespace vtower::cli {

// An array as it lies in a file.
struct PixelArray {
  DType dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

// Whether a tensor of this name, type and shape may hold patch rows: `pixels`, `pixel_values`,
// `pixel_values_videos` or `normalized`, two-dimensional, uint8 or floating point.
bool looks_like_pixels(const std::string& name, std::optional<DType> dtype,
                       const std::vector<std::int64_t>& shape);

// The values, widened without loss. Throws Error{unsupported} for other types than uint8, fp32,
// bf16 and fp16.
std::vector<float> values_of(const PixelArray& pixels);

// Prints the state of the rows ("normalised with CLIP constants ...", "raw bytes", "normalised
// twice") and returns it. Which channel a value belongs to follows from the checkpoint's layout
// where one is given, else from the row width where it fits a known one.
Json inspect_pixels(const std::string& name, const PixelArray& pixels,
                    const std::optional<Checkpoint>& checkpoint, const Terminal& terminal);

}  // namespace vtower::cli
