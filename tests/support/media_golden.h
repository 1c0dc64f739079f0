// Reading the reference pictures: names, profiles, decoding to hashes.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "core/digest.h"
#include "core/error.h"
#include "core/file.h"
#include "media/image_decoder.h"
#include "media/orientation.h"
#include "support/doctest.h"
#include "support/golden.h"

namespace vtower::test {

inline constexpr std::array all_profiles = {Profile::vllm, Profile::hf, Profile::hf_pil};
inline constexpr std::int64_t default_pixel_cap = MediaOptions{}.max_image_pixels;

// The kind of error that a call ends in; empty when it ends in none.
template <typename Call>
std::optional<ErrorKind> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

inline Frame decode_stored(const ImageDecoder& decoder) {
  Frame frame(decoder.header().stored);
  std::int64_t lines = 0;
  decoder.decode([&](const std::uint8_t* rgb) {
    std::memcpy(frame.row(lines++), rgb, static_cast<std::size_t>(frame.size.width) * 3);
  });
  REQUIRE(lines == frame.size.height);
  return frame;
}

// The picture as the profile sees it: decoded, and turned unless the profile is hf.
inline Frame decode_as(std::span<const std::uint8_t> bytes, Profile profile) {
  const auto decoder = open_image({bytes, profile, default_pixel_cap});
  Frame frame = decode_stored(*decoder);
  const auto orientation = decoder->header().orientation;
  return profile != Profile::hf && turns(orientation) ? oriented(frame, *orientation)
                                                      : std::move(frame);
}

inline Frame decode_as(const std::filesystem::path& path, Profile profile) {
  const MappedFile file(path);
  return decode_as(file.bytes(), profile);
}

}  // namespace vtower::test
