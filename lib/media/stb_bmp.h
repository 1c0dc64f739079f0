// stb_image, for the one layout in which it and Pillow agree: BMP of 24 bits, uncompressed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/frame.h"

namespace vtower {

struct StbFree {
  void operator()(std::uint8_t* pixels) const noexcept;
};
using StbPixels = std::unique_ptr<std::uint8_t[], StbFree>;

// RGB of a picture whose header was read and whose bytes were found complete before: stb_image
// itself takes the end of a file for zeros. Throws Error{unreadable} where it refuses or finds
// another size.
StbPixels decode_bmp_by_stb(std::span<const std::uint8_t> bytes, ImageSize expected);

}  // namespace vtower
