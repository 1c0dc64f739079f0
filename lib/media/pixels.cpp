#include "media/pixels.h"

#include <algorithm>

namespace vtower {

std::string_view alpha_note(AlphaPolicy policy) noexcept {
  switch (policy) {
    case AlphaPolicy::on_white: return "transparency composited on white";
    case AlphaPolicy::on_black: return "transparency composited on black";
    case AlphaPolicy::drop: break;
  }
  return "transparency dropped";
}

void rgba_to_rgb(const std::uint8_t* rgba, std::int64_t width, AlphaPolicy policy,
                 std::uint8_t* rgb) {
  const std::int32_t ground = policy == AlphaPolicy::on_black ? 0 : 255;
  for (std::int64_t x = 0; x < width; ++x, rgba += 4, rgb += 3) {
    const std::int32_t alpha = policy == AlphaPolicy::drop ? 255 : rgba[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<std::uint8_t>(div255(rgba[c] * alpha + ground * (255 - alpha)));
    }
  }
}

void gray_to_rgb(const std::uint8_t* gray, std::int64_t width, std::uint8_t* rgb) {
  for (std::int64_t x = 0; x < width; ++x, rgb += 3) rgb[0] = rgb[1] = rgb[2] = gray[x];
}

void cmyk_to_rgb(const std::uint8_t* cmyk, std::int64_t width, std::uint8_t* rgb) {
  for (std::int64_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const std::int32_t light = 255 - cmyk[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<std::uint8_t>(std::max(0, light - div255(cmyk[c] * light)));
    }
  }
}

}  // namespace vtower
