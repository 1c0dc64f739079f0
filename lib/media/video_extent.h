// How long a container says that its file is: a cut file is noticed before anything is decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace vtower {

// The number of bytes that the container's own outer structure needs: boxes of ISO media, the
// Segment of Matroska, the RIFF chunk of AVI, blocks of GIF, chunks of PNG. More than bytes.size()
// means that the file was cut. Empty where the format has no such structure or leaves the size
// open.
std::optional<std::uint64_t> declared_extent(std::span<const std::uint8_t> bytes);

}  // namespace vtower
