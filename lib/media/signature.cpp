#include "media/signature.h"

#include <algorithm>
#include <array>

namespace vtower {
namespace {

using namespace std::string_view_literals;

std::string_view text(std::span<const std::uint8_t> bytes, std::size_t limit) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), limit)};
}

// ISO base media: a first box of type ftyp lists brands, the major one first.
FileType iso_media_type(std::string_view head) {
  constexpr std::array avif_brands = {"avif"sv, "avis"sv};
  constexpr std::array heic_brands = {"heic"sv, "heix"sv, "heim"sv, "heis"sv,
                                      "hevc"sv, "hevx"sv, "mif1"sv, "msf1"sv};
  const auto size = static_cast<std::size_t>(static_cast<unsigned char>(head[2])) << 8 |
                    static_cast<unsigned char>(head[3]);
  const std::string_view brands = head.substr(8, size > 8 ? size - 8 : 4);
  bool heic = false;
  for (std::size_t at = 0; at + 4 <= brands.size(); at += 4) {
    if (at == 4) continue;  // the minor version is no brand
    const std::string_view brand = brands.substr(at, 4);
    if (std::ranges::find(avif_brands, brand) != avif_brands.end()) return FileType::avif;
    heic = heic || std::ranges::find(heic_brands, brand) != heic_brands.end();
  }
  return heic ? FileType::heic : FileType::video_container;
}

bool is_iso_media_box(std::string_view type) {
  constexpr std::array boxes = {"moov"sv, "mdat"sv, "free"sv, "skip"sv,
                                "wide"sv, "styp"sv, "pnot"sv, "moof"sv};
  return std::ranges::find(boxes, type) != boxes.end();
}

bool is_mpeg_transport_stream(std::string_view head) {
  const auto synchronised = [head](std::size_t first, std::size_t step) {
    return head.size() > first + 2 * step && head[first] == 'G' && head[first + step] == 'G' &&
           head[first + 2 * step] == 'G';
  };
  return synchronised(0, 188) || synchronised(4, 192) || synchronised(0, 204);
}

bool is_other_container(std::string_view head) {
  constexpr std::array prefixes = {"\x1a\x45\xdf\xa3"sv,                  // Matroska, WebM
                                   "FLV\x01"sv,                           // Flash video
                                   "\x30\x26\xb2\x75\x8e\x66\xcf\x11"sv,  // ASF, WMV
                                   "OggS"sv,
                                   "DKIF"sv,
                                   "YUV4MPEG2"sv,
                                   "\0\0\x01\xba"sv,     // MPEG program stream
                                   "\0\0\x01\xb3"sv,     // MPEG-1/2 video
                                   "\0\0\0\x01\x67"sv,   // H.264 elementary stream
                                   "\0\0\0\x01\x40"sv};  // HEVC elementary stream
  return std::ranges::any_of(prefixes, [head](auto prefix) { return head.starts_with(prefix); });
}

// SVG is text: an <svg element after white space, an XML declaration, comments or a doctype.
bool is_svg(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '<') return false;
  head.remove_prefix(start);
  if (head.starts_with("<svg")) return true;
  const bool prologue =
      head.starts_with("<?xml") || head.starts_with("<!--") || head.starts_with("<!DOCTYPE svg");
  return prologue && head.find("<svg") != std::string_view::npos;
}

}  // namespace

std::string_view to_string(FileType type) noexcept {
  switch (type) {
    case FileType::jpeg: return "JPEG";
    case FileType::png: return "PNG";
    case FileType::gif: return "GIF";
    case FileType::bmp: return "BMP";
    case FileType::webp: return "WebP";
    case FileType::tiff: return "TIFF";
    case FileType::avif: return "AVIF";
    case FileType::heic: return "HEIC";
    case FileType::jpeg2000: return "JPEG 2000";
    case FileType::svg: return "SVG";
    case FileType::video_container: return "video container";
    case FileType::unknown: return "unknown";
  }
  return "unknown";
}

FileType file_type(std::span<const std::uint8_t> bytes) noexcept {
  const std::string_view head = text(bytes, 4096);
  if (head.starts_with("\xff\xd8\xff")) return FileType::jpeg;
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return FileType::png;
  if (head.starts_with("GIF87a") || head.starts_with("GIF89a")) return FileType::gif;
  if (head.starts_with("RIFF") && head.size() >= 12) {
    if (head.substr(8, 4) == "WEBP") return FileType::webp;
    if (head.substr(8, 3) == "AVI") return FileType::video_container;
  }
  if (head.starts_with("II*\0"sv) || head.starts_with("MM\0*"sv) || head.starts_with("II+\0"sv) ||
      head.starts_with("MM\0+"sv)) {
    return FileType::tiff;
  }
  if (head.starts_with("\0\0\0\x0cjP  \r\n\x87\n"sv) || head.starts_with("\xff\x4f\xff\x51")) {
    return FileType::jpeg2000;
  }
  if (head.size() >= 12 && head.substr(4, 4) == "ftyp") return iso_media_type(head);
  if (head.size() >= 8 && is_iso_media_box(head.substr(4, 4))) return FileType::video_container;
  if (is_other_container(head) || is_mpeg_transport_stream(head)) return FileType::video_container;
  if (head.starts_with("BM")) return FileType::bmp;
  if (is_svg(head)) return FileType::svg;
  return FileType::unknown;
}

}  // namespace vtower
