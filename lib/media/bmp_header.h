// The headers of BMP files, from OS/2 1.x to version 5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/frame.h"

namespace vtower {

enum class BmpCoding { raw, rle8, rle4 };

struct BmpHeader {
  ImageSize size;
  bool top_down = false;
  int bits = 0;  // per pixel: 1, 4, 8, 16, 24, 32
  BmpCoding coding = BmpCoding::raw;
  bool five_six_five = false;                   // of 16 bits, else 5-5-5
  std::array<std::size_t, 3> byte_of{2, 1, 0};  // red, green, blue in a pixel of 24 or 32 bits
  std::optional<std::size_t> alpha_byte;        // only where a bit field names one
  std::array<std::array<std::uint8_t, 3>, 256> palette{};
  std::size_t data_offset = 0;
};

// Throws Error: truncated, unreadable, unsupported (layouts that Pillow 13.0.0 refuses too).
BmpHeader read_bmp_header(std::span<const std::uint8_t> bytes);

}  // namespace vtower
