#include "media/png_chunks.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "media/byte_reader.h"
#include "media/orientation.h"

namespace vtower {
namespace {

constexpr std::size_t signature_size = 8;
constexpr std::size_t largest_text = std::size_t{1} << 20;  // inflated; Pillow's limit is the same

struct Chunk {
  std::string_view type;
  std::span<const std::uint8_t> data;
  std::string_view text;  // the same bytes
  std::uint32_t crc = 0;
};

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Chunk next_chunk(ByteReader& reader) {
  const std::uint32_t length = reader.u32();
  const std::string_view type = as_text(reader.take(4));
  const std::span<const std::uint8_t> data = reader.take(length);
  return {type, data, as_text(data), reader.u32()};
}

void check_crc(const Chunk& chunk) {
  // The type lies directly in front of the data.
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(chunk.type.data()),
                          static_cast<uInt>(chunk.type.size() + chunk.data.size()));
  if (crc != chunk.crc) {
    throw Error(ErrorKind::unreadable, "png",
                "checksum of chunk " + std::string(chunk.type) + " does not match its content");
  }
}

// Inflated text; empty where it is damaged or larger than any metadata of use.
std::string inflate_text(std::string_view compressed) {
  std::string text(largest_text, '\0');
  uLongf size = text.size();
  if (uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                 reinterpret_cast<const Bytef*>(compressed.data()), compressed.size()) != Z_OK) {
    size = 0;
  }
  text.resize(size);
  return text;
}

// Splits off what lies before the next zero byte; all of it where there is none.
std::string_view take_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

struct Text {
  std::string_view keyword;
  std::string value;
};

bool is_text_of_use(std::string_view keyword) {
  return keyword == "Raw profile type exif" || keyword == "XML:com.adobe.xmp";
}

std::optional<Text> text_of(const Chunk& chunk) {
  std::string_view rest = chunk.text;
  const std::string_view keyword = take_field(rest);
  if (!is_text_of_use(keyword)) return std::nullopt;
  if (chunk.type == "tEXt") return Text{keyword, std::string(rest)};
  if (chunk.type == "zTXt") {
    return Text{keyword, rest.empty() ? std::string() : inflate_text(rest.substr(1))};
  }
  if (rest.size() < 2) return std::nullopt;
  const bool compressed = rest[0] != 0;
  rest.remove_prefix(2);
  take_field(rest);  // language
  take_field(rest);  // translated keyword
  return Text{keyword, compressed ? inflate_text(rest) : std::string(rest)};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// ImageMagick's form: a line feed, the name, the length, then the bytes as hexadecimal digits.
std::vector<std::uint8_t> raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::vector<std::uint8_t> bytes;
  int high = -1;
  for (const char c : text) {
    const int digit = hex_digit(c);
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

void read_header(const Chunk& chunk, PngSummary& summary) {
  if (chunk.type != "IHDR" || chunk.data.size() != 13) {
    throw Error(ErrorKind::unreadable, "png", "the first chunk is no IHDR of 13 bytes");
  }
  check_crc(chunk);
  ByteReader reader(chunk.data, ByteOrder::big, "png");
  summary.size.width = reader.u32();
  summary.size.height = reader.u32();
  summary.bit_depth = reader.u8();
  summary.colour_type = reader.u8();
}

}  // namespace

PngSummary summarize_png(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes, ByteOrder::big, "png");
  reader.take(signature_size);
  PngSummary summary;
  read_header(next_chunk(reader), summary);
  std::vector<std::uint8_t> raw_exif;
  std::string xmp;
  std::optional<std::int64_t> exif;
  bool has_exif = false;
  for (Chunk chunk = next_chunk(reader); chunk.type != "IEND"; chunk = next_chunk(reader)) {
    summary.animated = summary.animated || chunk.type == "acTL";
    summary.colour_profile = summary.colour_profile || chunk.type == "iCCP";
    summary.gamma = summary.gamma || chunk.type == "gAMA";
    if (chunk.type == "eXIf") {
      check_crc(chunk);
      exif = exif_orientation(chunk.data);
      has_exif = true;
    } else if (chunk.type == "tEXt" || chunk.type == "zTXt" || chunk.type == "iTXt") {
      const std::optional<Text> text = text_of(chunk);
      if (!text) continue;
      check_crc(chunk);
      if (text->keyword == "XML:com.adobe.xmp") {
        xmp = text->value;
      } else {
        raw_exif = raw_profile(text->value);
      }
    }
  }
  // Pillow's order: the eXIf chunk, else the raw profile; XMP where neither has the tag.
  if (!has_exif) exif = exif_orientation(raw_exif);
  summary.orientation = exif ? exif : xmp_orientation(xmp);
  return summary;
}

}  // namespace vtower
