#include "cli/png_image.h"

#include <png.h>

#include "cli/html_text.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

std::string data_uri(ImageSize size, png_uint_32 format, const std::uint8_t* pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(size.width);
  image.height = static_cast<png_uint_32>(size.height);
  image.format = format;
  std::vector<std::uint8_t> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t length = file.size();
  if (png_image_write_to_memory(&image, file.data(), &length, 0, pixels, 0, nullptr) == 0) {
    throw Error(
        ErrorKind::memory, "png_image",
        std::to_string(size.width) + "x" + std::to_string(size.height) + ": " + image.message);
  }
  file.resize(length);
  return "data:image/png;base64," + base64(file);
}

}  // namespace

std::string png_data_uri(const Frame& frame) {
  return data_uri(frame.size, PNG_FORMAT_RGB, frame.pixels.data());
}

std::string png_data_uri(const RgbaImage& image) {
  return data_uri(image.size, PNG_FORMAT_RGBA, image.pixels.data());
}

}  // namespace vtower::cli
