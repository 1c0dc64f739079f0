#include "media/bmp_header.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "media/byte_reader.h"

namespace vtower {
namespace {

constexpr std::uint32_t file_header_size = 14;
constexpr std::uint32_t core_header_size = 12;  // OS/2 1.x: sides of 16 bits, palette of 3 bytes

enum Compression : std::uint32_t { none = 0, rle8 = 1, rle4 = 2, bit_fields = 3 };

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(ErrorKind::unsupported, "bmp", what);
}

struct Masks {
  std::uint32_t red = 0, green = 0, blue = 0, alpha = 0;
  friend bool operator==(const Masks&, const Masks&) = default;
};

struct Layout32 {
  Masks masks;
  std::array<std::size_t, 3> byte_of;
  std::optional<std::size_t> alpha_byte;
};

// The layouts of 32 bits that Pillow knows.
const std::array<Layout32, 8> layouts_32 = {{
    {{0xFF0000, 0xFF00, 0xFF, 0}, {2, 1, 0}, {}},
    {{0xFF000000, 0xFF0000, 0xFF00, 0}, {3, 2, 1}, {}},
    {{0xFF000000, 0xFF00, 0xFF, 0}, {3, 1, 0}, {}},
    {{0xFF000000, 0xFF0000, 0xFF00, 0xFF}, {3, 2, 1}, 0},
    {{0xFF, 0xFF00, 0xFF0000, 0xFF000000}, {0, 1, 2}, 3},
    {{0xFF0000, 0xFF00, 0xFF, 0xFF000000}, {2, 1, 0}, 3},
    {{0xFF000000, 0xFF00, 0xFF, 0xFF0000}, {3, 1, 0}, 2},
    {{0, 0, 0, 0}, {2, 1, 0}, 3},
}};

void apply_masks(const Masks& masks, BmpHeader& bmp) {
  const Masks colours{masks.red, masks.green, masks.blue, 0};
  if (bmp.bits == 32) {
    const auto known = std::ranges::find(layouts_32, masks, &Layout32::masks);
    if (known == layouts_32.end()) unsupported("bit fields of an unusual layout");
    bmp.byte_of = known->byte_of;
    bmp.alpha_byte = known->alpha_byte;
  } else if (bmp.bits == 24 && colours == Masks{0xFF0000, 0xFF00, 0xFF, 0}) {
    bmp.byte_of = {2, 1, 0};
  } else if (bmp.bits == 16 && colours == Masks{0xF800, 0x7E0, 0x1F, 0}) {
    bmp.five_six_five = true;
  } else if (bmp.bits != 16 || colours != Masks{0x7C00, 0x3E0, 0x1F, 0}) {
    unsupported("bit fields of an unusual layout");
  }
}

// Blue, green, red and, from version 3 on, an unused byte. Indices beyond the table stay black.
void read_palette(ByteReader& reader, std::uint32_t colours, std::size_t entry_size,
                  BmpHeader& bmp) {
  if (colours > 65536) {
    throw Error(ErrorKind::unreadable, "bmp", "palette of " + std::to_string(colours) + " colours");
  }
  for (std::uint32_t i = 0; i < colours; ++i) {
    const auto entry = reader.take(entry_size);
    if (i < bmp.palette.size()) bmp.palette[i] = {entry[2], entry[1], entry[0]};
  }
}

}  // namespace

BmpHeader read_bmp_header(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes, ByteOrder::little, "bmp");
  reader.seek(10);
  std::uint32_t offset = reader.u32();
  const std::uint32_t header_size = reader.u32();
  constexpr std::array<std::uint32_t, 7> known_sizes = {12, 40, 52, 56, 64, 108, 124};
  if (std::ranges::find(known_sizes, header_size) == known_sizes.end()) {
    unsupported("header of " + std::to_string(header_size) + " bytes");
  }
  BmpHeader bmp;
  ByteReader fields(reader.take(header_size - 4), ByteOrder::little, "bmp");
  const bool core = header_size == core_header_size;
  std::uint32_t compression = none;
  std::uint32_t colours = 0;
  if (core) {
    bmp.size.width = fields.u16();
    bmp.size.height = fields.u16();
    fields.u16();  // planes
    bmp.bits = fields.u16();
  } else {
    bmp.size.width = fields.u32();
    const std::uint32_t height = fields.u32();
    bmp.top_down = height >= 0xFF000000U;  // negative
    bmp.size.height = bmp.top_down ? (std::int64_t{1} << 32) - height : height;
    fields.u16();  // planes
    bmp.bits = fields.u16();
    compression = fields.u32();
    fields.seek(28);
    colours = fields.u32();
  }
  constexpr std::array<int, 6> known_bits = {1, 4, 8, 16, 24, 32};
  if (std::ranges::find(known_bits, bmp.bits) == known_bits.end()) {
    unsupported(std::to_string(bmp.bits) + " bits per pixel");
  }
  switch (compression) {
    case none: break;
    case rle8:
    case rle4:
      if (bmp.bits > 8) unsupported("run lengths with " + std::to_string(bmp.bits) + " bits");
      bmp.coding = compression == rle8 ? BmpCoding::rle8 : BmpCoding::rle4;
      break;
    case bit_fields: {
      const bool inside = header_size >= 52;
      ByteReader& from = inside ? fields : reader;
      if (inside) fields.seek(36);
      Masks masks;
      masks.red = from.u32();
      masks.green = from.u32();
      masks.blue = from.u32();
      if (header_size >= 56) masks.alpha = from.u32();
      apply_masks(masks, bmp);
      break;
    }
    default: unsupported("compression " + std::to_string(compression));
  }
  if (bmp.bits <= 8) {
    const std::size_t entry_size = core ? 3 : 4;
    if (colours == 0) colours = 1U << bmp.bits;
    // Some writers leave the palette out of the offset.
    if (offset == file_header_size + header_size) {
      offset += static_cast<std::uint32_t>(entry_size) * colours;
    }
    read_palette(reader, colours, entry_size, bmp);
  }
  bmp.data_offset = offset != 0 ? offset : reader.position();
  return bmp;
}

}  // namespace vtower
