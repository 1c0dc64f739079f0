#include "media/stb_bmp.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#include <stb_image.h>

#include <limits>
#include <string>

#include "core/error.h"

namespace vtower {

void StbFree::operator()(std::uint8_t* pixels) const noexcept {
  stbi_image_free(pixels);
}

StbPixels decode_bmp_by_stb(std::span<const std::uint8_t> bytes, ImageSize expected) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorKind::too_large, "bmp", "the file has more than 2 GB");
  }
  constexpr int rgb = 3;
  int width = 0;
  int height = 0;
  int channels = 0;
  StbPixels pixels(stbi_load_from_memory(bytes.data(), static_cast<int>(bytes.size()), &width,
                                         &height, &channels, rgb));
  if (pixels == nullptr || width != expected.width || height != expected.height) {
    throw Error(ErrorKind::unreadable, "bmp",
                "stb_image cannot read it: " +
                    std::string(pixels == nullptr ? stbi_failure_reason() : "another size"));
  }
  return pixels;
}

}  // namespace vtower
