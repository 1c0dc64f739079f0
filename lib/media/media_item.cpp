#include "media/media_item.h"

#include "core/error.h"
#include "core/file.h"
#include "media/image_item.h"
#include "media/signature.h"
#ifdef VTOWER_WITH_VIDEO
#include "media/video_item.h"
#endif

namespace vtower {
namespace {

std::unique_ptr<const MediaItem> open_video(const std::filesystem::path& path,
                                            const PixelSpec& spec, const MediaOptions& options) {
#ifdef VTOWER_WITH_VIDEO
  return open_video_item(path, spec, options);
#else
  (void)path;
  (void)spec;
  (void)options;
  throw Error(ErrorKind::unsupported, "media_item",
              "a video: this build reads pictures only (VTOWER_VIDEO is off)");
#endif
}

bool is_video(FileType type, MediaKind kind) {
  switch (kind) {
    case MediaKind::image:
      return false;
    case MediaKind::video:
      return true;
    case MediaKind::automatic:
      break;
  }
  return type == FileType::video_container;
}

}  // namespace

std::unique_ptr<const MediaItem> MediaItem::open(const std::filesystem::path& path,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options) {
  MappedFile file(path);
  if (is_video(file_type(file.bytes()), options.kind)) return open_video(path, spec, options);
  return open_image_item(path, std::move(file), spec, options);
}

}  // namespace vtower
