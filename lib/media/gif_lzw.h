// The LZW variant of GIF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/byte_buffer.h"

namespace vtower {

// Exactly `count` indices from the joined data of a frame's sub-blocks; what follows them is not
// looked at. Throws Error{truncated} where the data or the code stream end earlier, and
// Error{unreadable} for codes that cannot occur.
ByteBuffer gif_lzw_decode(std::span<const std::uint8_t> data, int minimum_code_size,
                          std::size_t count);

}  // namespace vtower
