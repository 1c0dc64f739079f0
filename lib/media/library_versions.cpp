#include "media/library_versions.h"

// jpeglib.h needs size_t and FILE declared before it.
#include <jpeglib.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

#include <cstddef>
#include <cstdio>

#include "media/video_versions.h"

namespace vtower {
namespace {

std::string jpeg_version() {
  // LIBJPEG_TURBO_VERSION_NUMBER is 2001005 for 2.1.5.
  constexpr int number = LIBJPEG_TURBO_VERSION_NUMBER;
  return std::to_string(number / 1'000'000) + "." + std::to_string(number / 1000 % 1000) + "." +
         std::to_string(number % 1000);
}

std::string webp_version() {
  const int number = WebPGetDecoderVersion();
  return std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 255) + "." +
         std::to_string(number & 255);
}

std::string tiff_version() {
  const std::string text = TIFFGetVersion();  // "LIBTIFF, Version 4.5.0\n..."
  const std::size_t begin = text.find("Version ");
  return begin == std::string::npos ? text : text.substr(begin + 8, text.find('\n') - begin - 8);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> media_library_versions() {
  std::vector<std::pair<std::string, std::string>> versions{{"libjpeg-turbo", jpeg_version()},
                                                            {"libpng", png_get_libpng_ver(nullptr)},
                                                            {"libwebp", webp_version()},
                                                            {"libtiff", tiff_version()}};
  for (auto& entry : video_library_versions()) versions.push_back(std::move(entry));
  return versions;
}

}  // namespace vtower
