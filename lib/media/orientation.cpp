#include "media/orientation.h"

#include <array>
#include <cassert>
#include <cstring>

#include "media/byte_reader.h"

namespace vtower {
namespace {

constexpr std::uint16_t orientation_tag = 0x0112;

// The types that Pillow takes for a number: shorts, longs and signed bytes. An unsigned byte is an
// opaque byte for it.
std::size_t element_size(std::uint16_t type) {
  switch (type) {
    case 6: return 1;
    case 3:
    case 8: return 2;
    case 4:
    case 9: return 4;
    default: return 0;
  }
}

std::int64_t first_value(ByteReader reader, std::uint16_t type, std::uint32_t count) {
  const std::size_t size = element_size(type);
  if (std::uint64_t{size} * count > 4) reader.seek(reader.u32());
  return size == 1 ? reader.u8() : size == 2 ? reader.u16() : reader.u32();
}

std::optional<std::int64_t> orientation_of_tiff(std::span<const std::uint8_t> tiff) {
  if (tiff.size() < 8) return std::nullopt;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I' && tiff[2] == 42 && tiff[3] == 0;
  const bool big = tiff[0] == 'M' && tiff[1] == 'M' && tiff[2] == 0 && tiff[3] == 42;
  if (!little && !big) return std::nullopt;
  ByteReader reader(tiff, little ? ByteOrder::little : ByteOrder::big, "exif");
  reader.seek(4);
  reader.seek(reader.u32());
  for (std::uint16_t entries = reader.u16(); entries > 0; --entries) {
    const std::uint16_t tag = reader.u16();
    const std::uint16_t type = reader.u16();
    const std::uint32_t count = reader.u32();
    if (tag == orientation_tag && count > 0 && element_size(type) > 0) {
      return first_value(reader, type, count);
    }
    reader.take(4);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::array<std::uint8_t, 6> prefix = {'E', 'x', 'i', 'f', 0, 0};
  for (int twice = 0; twice < 2; ++twice) {  // some writers put the prefix twice
    if (exif.size() >= prefix.size() &&
        std::memcmp(exif.data(), prefix.data(), prefix.size()) == 0) {
      exif = exif.subspan(prefix.size());
    }
  }
  try {
    return orientation_of_tiff(exif);
  } catch (const Error&) {
    return std::nullopt;  // cut metadata do not make the picture unreadable
  }
}

std::optional<std::int64_t> xmp_orientation(std::string_view xmp) {
  constexpr std::string_view name = "tiff:Orientation";
  for (std::size_t at = xmp.find(name); at != std::string_view::npos; at = xmp.find(name, at + 1)) {
    std::string_view rest = xmp.substr(at + name.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return rest[0] - '0';
  }
  return std::nullopt;
}

bool turns(std::optional<std::int64_t> orientation) noexcept {
  return orientation && *orientation >= 2 && *orientation <= 8;
}

ImageSize oriented_size(ImageSize stored, std::optional<std::int64_t> orientation) noexcept {
  const bool swaps = turns(orientation) && *orientation >= 5;
  return swaps ? ImageSize{stored.width, stored.height} : stored;
}

Frame oriented(const Frame& stored, std::int64_t orientation) {
  assert(turns(orientation));
  const std::int64_t right = 3;
  const std::int64_t down = 3 * stored.size.width;
  const std::int64_t last_x = (stored.size.width - 1) * right;
  const std::int64_t last_y = (stored.size.height - 1) * down;
  // Where the upright picture's first pixel is stored, and the ways to its right and lower
  // neighbours.
  struct Walk {
    std::int64_t start, step_x, step_y;
  };
  const std::array<Walk, 9> walks = {{{},
                                      {},
                                      {last_x, -right, down},
                                      {last_x + last_y, -right, -down},
                                      {last_y, right, -down},
                                      {0, down, right},
                                      {last_y, -down, right},
                                      {last_x + last_y, -down, -right},
                                      {last_x, down, -right}}};
  const Walk walk = walks[static_cast<std::size_t>(orientation)];
  Frame upright(oriented_size(stored.size, orientation));
  constexpr std::int64_t block = 64;  // columns at a time, so that the stored lines stay in cache
  for (std::int64_t x0 = 0; x0 < upright.size.width; x0 += block) {
    const std::int64_t x1 = std::min(x0 + block, upright.size.width);
    for (std::int64_t y = 0; y < upright.size.height; ++y) {
      const std::uint8_t* in =
          stored.pixels.data() + walk.start + y * walk.step_y + x0 * walk.step_x;
      std::uint8_t* out = upright.row(y) + x0 * 3;
      for (std::int64_t x = x0; x < x1; ++x, in += walk.step_x, out += 3) std::memcpy(out, in, 3);
    }
  }
  return upright;
}

}  // namespace vtower
