// Pictures as PNG in memory, for pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/frame.h"

namespace vtower::cli {

// uint8 RGBA with straight alpha, rows packed.
struct RgbaImage {
  ImageSize size;
  std::vector<std::uint8_t> pixels;

  explicit RgbaImage(ImageSize image_size)
      : size(image_size), pixels(static_cast<std::size_t>(image_size.pixels()) * 4) {}

  [[nodiscard]] std::uint8_t* pixel(std::int64_t index) { return pixels.data() + index * 4; }
};

// A PNG file as "data:image/png;base64,...". Throws Error{memory} where libpng cannot write it.
std::string png_data_uri(const Frame& frame);
std::string png_data_uri(const RgbaImage& image);

}  // namespace vtower::cli
