#include "core/error.h"
#include "media/video_item.h"

namespace vtower {

std::unique_ptr<const MediaItem> open_video_item(const std::filesystem::path& path,
                                                 const PixelSpec&, const MediaOptions&) {
  throw Error(ErrorKind::unsupported, "video_item",
              path.string() + ": this build reads no video; configure with -DVTOWER_VIDEO=ON");
}

}  // namespace vtower
