// How a stored picture has to be turned to be seen upright.
//
// Source: Image.getexif and ImageOps.exif_transpose of Pillow 13.0.0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/frame.h"

namespace vtower {

// The value of tag 0x0112 in an EXIF block (with or without its "Exif\0\0" prefix), as it is found,
// also outside of 1..8. Empty where the tag is absent or the block is malformed.
std::optional<std::int64_t> exif_orientation(std::span<const std::uint8_t> exif);

// The digit of tiff:Orientation in an XMP packet.
std::optional<std::int64_t> xmp_orientation(std::string_view xmp);

// Whether `orientation` asks for any change: 2..8.
bool turns(std::optional<std::int64_t> orientation) noexcept;

ImageSize oriented_size(ImageSize stored, std::optional<std::int64_t> orientation) noexcept;

// The picture turned upright; `orientation` is one of 2..8.
Frame oriented(const Frame& stored, std::int64_t orientation);

}  // namespace vtower
