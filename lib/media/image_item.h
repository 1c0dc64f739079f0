// A still picture on its way to patch rows.
#pragma once

#include <filesystem>
#include <memory>

#include "core/file.h"
#include "core/pixel_spec.h"
#include "media/media_item.h"
#include "media/media_options.h"

namespace vtower {

// `file` is the mapped content of `path`. Throws as MediaItem::open does.
std::unique_ptr<const MediaItem> open_image_item(const std::filesystem::path& path, MappedFile file,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options);

}  // namespace vtower
