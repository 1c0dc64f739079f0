// Small pictures made on the spot.
#pragma once

#include <zlib.h>
// clang-format off
#include <stdio.h>  // before jpeglib.h, which needs FILE and size_t and includes neither
#include <jpeglib.h>
// clang-format on

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace vtower::test {

inline std::string big_endian(std::uint32_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes) & 255);
  return text;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size()), 4) + body +
         big_endian(static_cast<std::uint32_t>(crc), 4);
}

// `samples`: the packed lines without filter bytes; `before_data`: chunks in front of IDAT.
inline std::string png(int width, int height, int colour_type, int bit_depth,
                       const std::string& samples, const std::string& before_data = {}) {
  const std::size_t line = height > 0 ? samples.size() / static_cast<std::size_t>(height) : 0;
  std::string filtered;
  for (std::size_t at = 0; at < samples.size(); at += line) {
    filtered += '\0' + samples.substr(at, line);
  }
  std::string packed(compressBound(filtered.size()), '\0');
  uLongf size = packed.size();
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size,
               reinterpret_cast<const Bytef*>(filtered.data()), filtered.size()) != Z_OK) {
    throw std::runtime_error("compress");
  }
  packed.resize(size);
  const std::string header = big_endian(static_cast<std::uint32_t>(width), 4) +
                             big_endian(static_cast<std::uint32_t>(height), 4) +
                             static_cast<char>(bit_depth) + static_cast<char>(colour_type) +
                             std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + before_data + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

// A TIFF block whose only tag is the orientation.
inline std::string exif_block(int orientation) {
  return std::string("MM\0\x2a\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1", 18) +
         big_endian(static_cast<std::uint32_t>(orientation), 2) + std::string(6, '\0');
}

// A segment of a JPEG file, to be put behind its first two bytes.
inline std::string jpeg_segment(int app, const std::string& data) {
  return "\xff" + std::string(1, static_cast<char>(0xE0 + app)) +
         big_endian(static_cast<std::uint32_t>(data.size() + 2), 2) + data;
}

// `samples`: interleaved bytes of 3 (RGB) or 4 components (CMYK, written as they are).
inline std::string jpeg(int width, int height, int components, std::string samples, int quality) {
  jpeg_compress_struct info;
  jpeg_error_mgr manager;
  info.err = jpeg_std_error(&manager);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = components;
  info.in_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = reinterpret_cast<JSAMPROW>(samples.data()) +
                std::size_t{info.next_scanline} * static_cast<std::size_t>(width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<const char*>(out), size);
  jpeg_destroy_compress(&info);
  std::free(out);
  return file;
}

}  // namespace vtower::test
