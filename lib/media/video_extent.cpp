#include "media/video_extent.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace vtower {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

std::uint64_t big_endian(Bytes bytes, std::uint64_t at, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[at + static_cast<std::uint64_t>(i)];
  return value;
}

std::string_view text(Bytes bytes, std::uint64_t at, std::uint64_t count) {
  if (at + count > bytes.size()) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + at, static_cast<std::size_t>(count)};
}

std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  return a > unbounded - b ? unbounded : a + b;
}

bool is_top_box(std::string_view type) {
  constexpr std::string_view known[] = {"ftyp", "moov", "mdat", "free", "skip", "wide",
                                        "styp", "moof", "sidx", "mfra", "uuid", "meta",
                                        "pnot", "udta", "emsg", "prft", "ssix", "mdia"};
  return std::find(std::begin(known), std::end(known), type) != std::end(known);
}

std::optional<std::uint64_t> iso_extent(Bytes bytes) {
  std::uint64_t at = 0;
  while (at + 8 <= bytes.size() && is_top_box(text(bytes, at + 4, 4))) {
    std::uint64_t size = big_endian(bytes, at, 4);
    if (size == 0) return std::nullopt;  // to the end of the file, wherever that is
    if (size == 1) {
      if (at + 16 > bytes.size()) return saturated_sum(at, 16);
      size = big_endian(bytes, at + 8, 8);
    }
    if (size < 8) return std::nullopt;
    at = saturated_sum(at, size);
    if (at > bytes.size()) return at;
  }
  return at;
}

struct EbmlSize {
  std::uint64_t value = 0;
  std::uint64_t end = 0;  // where the content starts
  bool known = false;
};

std::optional<EbmlSize> ebml_size(Bytes bytes, std::uint64_t at) {
  if (at >= bytes.size() || bytes[at] == 0) return std::nullopt;
  int length = 1;
  while ((bytes[at] & (0x80 >> (length - 1))) == 0) ++length;
  if (at + static_cast<std::uint64_t>(length) > bytes.size()) return std::nullopt;
  const std::uint64_t mask = (std::uint64_t{1} << (7 * length)) - 1;
  const std::uint64_t value = big_endian(bytes, at, length) & mask;
  return EbmlSize{value, at + static_cast<std::uint64_t>(length), value != mask};
}

std::optional<std::uint64_t> matroska_extent(Bytes bytes) {
  const auto header = ebml_size(bytes, 4);
  if (!header || !header->known) return std::nullopt;
  const std::uint64_t at = saturated_sum(header->end, header->value);
  if (at >= bytes.size()) return saturated_sum(at, 1);
  if (text(bytes, at, 4) != "\x18\x53\x80\x67") return std::nullopt;
  const auto segment = ebml_size(bytes, at + 4);
  if (!segment || !segment->known) return std::nullopt;
  return saturated_sum(segment->end, segment->value);
}

std::optional<std::uint64_t> riff_extent(Bytes bytes) {
  const std::uint64_t size = bytes[4] | std::uint64_t{bytes[5]} << 8 |
                             std::uint64_t{bytes[6]} << 16 | std::uint64_t{bytes[7]} << 24;
  if (size == 0 || size == 0xffffffff) return std::nullopt;  // written as a stream
  return size / 2 * 2 + 8;
}

// Past the sub-blocks that start at `at`; more than the file holds where they are cut.
std::uint64_t after_sub_blocks(Bytes bytes, std::uint64_t at) {
  while (at < bytes.size() && bytes[at] != 0) at += std::uint64_t{bytes[at]} + 1;
  return at + 1;
}

std::uint64_t colour_table(std::uint8_t flags) {
  return (flags & 0x80) != 0 ? std::uint64_t{3} << ((flags & 7) + 1) : 0;
}

std::optional<std::uint64_t> gif_extent(Bytes bytes) {
  if (bytes.size() < 13) return 13;
  std::uint64_t at = 13 + colour_table(bytes[10]);
  while (at < bytes.size()) {
    const std::uint8_t kind = bytes[at];
    if (kind == 0x21) {
      at = after_sub_blocks(bytes, at + 2);
    } else if (kind == 0x2c) {
      if (at + 10 > bytes.size()) return at + 10;
      at = after_sub_blocks(bytes, at + 11 + colour_table(bytes[at + 9]));
    } else {
      return at;  // the trailer, or bytes behind the pictures
    }
  }
  return at;
}

std::optional<std::uint64_t> png_extent(Bytes bytes) {
  std::uint64_t at = 8;
  while (at + 12 <= bytes.size()) {
    const bool last = text(bytes, at + 4, 4) == "IEND";
    at += 12 + big_endian(bytes, at, 4);
    if (last || at > bytes.size()) return at;
  }
  return at + 12;
}

}  // namespace

std::optional<std::uint64_t> declared_extent(Bytes bytes) {
  if (bytes.size() < 12) return std::nullopt;
  if (is_top_box(text(bytes, 4, 4))) return iso_extent(bytes);
  if (text(bytes, 0, 4) == "\x1a\x45\xdf\xa3") return matroska_extent(bytes);
  if (text(bytes, 0, 4) == "RIFF" && text(bytes, 8, 4) == "AVI ") return riff_extent(bytes);
  if (text(bytes, 0, 4) == "GIF8") return gif_extent(bytes);
  if (text(bytes, 0, 4) == "\x89PNG") return png_extent(bytes);
  return std::nullopt;
}

}  // namespace vtower
