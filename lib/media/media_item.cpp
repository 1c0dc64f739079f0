#include "media/media_item.h"

#include "core/file.h"
#include "media/image_item.h"
#include "media/signature.h"
#include "media/video_item.h"

namespace vtower {
namespace {

bool is_video(FileType type, MediaKind kind) {
  switch (kind) {
    case MediaKind::image: return false;
    case MediaKind::video: return true;
    case MediaKind::automatic: break;
  }
  return type == FileType::video_container;
}

}  // namespace

std::unique_ptr<const MediaItem> MediaItem::open(const std::filesystem::path& path,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options) {
  MappedFile file(path);
  if (is_video(file_type(file.bytes()), options.kind)) {
    return open_video_item(path, spec, options);
  }
  return open_image_item(path, std::move(file), spec, options);
}

}  // namespace vtower
