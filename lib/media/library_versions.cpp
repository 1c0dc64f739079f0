#include "media/library_versions.h"

// clang-format off
#include <stdio.h>  // before jpeglib.h, which needs FILE and size_t and includes neither
#include <jpeglib.h>
// clang-format on
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <zlib.h>

#include "media/video_versions.h"

namespace vtower {
namespace {

// Three numbers of 8 bits, the major one highest.
std::string dotted(unsigned version) {
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
         std::to_string(version & 255);
}

// libjpeg-turbo cannot tell its version at run time; 2001005 stands for 2.1.5.
std::string jpeg_version() {
  constexpr int version = LIBJPEG_TURBO_VERSION_NUMBER;
  return std::to_string(version / 1'000'000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

// "LIBTIFF, Version 4.5.0\nCopyright ..."
std::string tiff_version() {
  const std::string text = TIFFGetVersion();
  const std::size_t start = text.find("Version ");
  if (start == std::string::npos) return text;
  return text.substr(start + 8, text.find('\n') - start - 8);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> media_library_versions() {
  std::vector<std::pair<std::string, std::string>> versions = {
      {"libjpeg-turbo", jpeg_version()},
      {"libpng", png_get_libpng_ver(nullptr)},
      {"libtiff", tiff_version()},
      {"libwebp", dotted(static_cast<unsigned>(WebPGetDecoderVersion()))},
      {"zlib", zlibVersion()}};
  for (auto& entry : video_library_versions()) versions.push_back(std::move(entry));
  return versions;
}

}  // namespace vtower
