// One decoded picture: a still image or a frame of a clip.
#pragma once

#include <cstdint>

#include "core/byte_buffer.h"

namespace vtower {

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  [[nodiscard]] constexpr std::int64_t pixels() const noexcept { return height * width; }
  friend constexpr bool operator==(const ImageSize&, const ImageSize&) = default;
};

// uint8 RGB, interleaved, row 0 is the top, rows packed: pixels.size() == height * width * 3.
struct Frame {
  ImageSize size;
  ByteBuffer pixels;

  explicit Frame(ImageSize frame_size)
      : size(frame_size), pixels(static_cast<std::size_t>(frame_size.pixels()) * 3) {}

  [[nodiscard]] std::uint8_t* row(std::int64_t y) noexcept {
    return pixels.data() + y * size.width * 3;
  }
  [[nodiscard]] const std::uint8_t* row(std::int64_t y) const noexcept {
    return pixels.data() + y * size.width * 3;
  }
};

}  // namespace vtower
