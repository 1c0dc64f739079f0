#include "media/video_source.h"

#include <algorithm>
#include <string_view>

#include "media/signature.h"

namespace vtower {

// acTL stands before the first picture data.
bool is_animated_png(std::span<const std::uint8_t> bytes) {
  for (std::uint64_t at = 8; at + 12 <= bytes.size();) {
    const std::string_view type(reinterpret_cast<const char*>(bytes.data()) + at + 4, 4);
    if (type == "acTL") return true;
    if (type == "IDAT" || type == "IEND") return false;
    at += 12 + (std::uint64_t{bytes[at]} << 24 | std::uint64_t{bytes[at + 1]} << 16 |
                std::uint64_t{bytes[at + 2]} << 8 | std::uint64_t{bytes[at + 3]});
  }
  return false;
}

std::unique_ptr<const ClipSource> open_clip(std::span<const std::uint8_t> bytes,
                                            const MediaOptions& options) {
  switch (file_type(bytes)) {
    case FileType::webp:
      return is_animated_webp(bytes) ? open_webp_clip(bytes, options)
                                     : open_still_clip(bytes, options);
    case FileType::png:
      return is_animated_png(bytes) ? open_container_clip(bytes, options)
                                    : open_still_clip(bytes, options);
    case FileType::gif:
    case FileType::video_container:
    case FileType::unknown: return open_container_clip(bytes, options);
    default: return open_still_clip(bytes, options);
  }
}

}  // namespace vtower
