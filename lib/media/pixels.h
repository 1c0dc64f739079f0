// Conversions of single lines to RGB, with Pillow's rounding.
#pragma once

#include <cstdint>
#include <string_view>

#include "media/media_options.h"

namespace vtower {

// What becomes of transparency: composited on white (vllm) or dropped, the colour below it showing
// through (hf, hf-pil). On black is nobody's profile, but a fault to tell from the others.
enum class AlphaPolicy { on_white, drop, on_black };

constexpr AlphaPolicy alpha_policy(Profile profile) noexcept {
  return profile == Profile::vllm ? AlphaPolicy::on_white : AlphaPolicy::drop;
}

// What an item's record says about it.
std::string_view alpha_note(AlphaPolicy policy) noexcept;

// x / 255, rounded, for 0 <= x <= 255 * 255: MULDIV255 and BLEND of Pillow.
constexpr std::int32_t div255(std::int32_t x) noexcept {
  const std::int32_t t = x + 128;
  return ((t >> 8) + t) >> 8;
}

// Lines of `width` pixels; in and out may not overlap.
void rgba_to_rgb(const std::uint8_t* rgba, std::int64_t width, AlphaPolicy policy,
                 std::uint8_t* rgb);
void gray_to_rgb(const std::uint8_t* gray, std::int64_t width, std::uint8_t* rgb);
// C, M, Y, K with 0 = no ink.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::int64_t width, std::uint8_t* rgb);

}  // namespace vtower
