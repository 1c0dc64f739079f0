// What a file is, from its first bytes; its name plays no part.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vtower {

enum class FileType {
  jpeg,
  png,
  gif,
  bmp,
  webp,
  tiff,
  avif,
  heic,
  jpeg2000,
  svg,
  video_container,  // MP4 and relatives, Matroska, AVI, MPEG, FLV, ASF, Ogg, IVF, Y4M
  unknown,
};

// "JPEG", "AVIF", ...
std::string_view to_string(FileType type) noexcept;

FileType file_type(std::span<const std::uint8_t> bytes) noexcept;

}  // namespace vtower
