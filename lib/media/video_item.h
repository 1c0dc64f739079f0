// A clip on its way to patch rows.
#pragma once

#include <filesystem>
#include <memory>

#include "core/pixel_spec.h"
#include "media/media_item.h"
#include "media/media_options.h"

namespace vtower {

// Opens the clip at `path`: its packets are scanned, its frames counted and chosen, its grid known;
// no frame is decoded before load(). Containers and codecs: video_container.h, video_decoder.h.
// Throws Error: unreadable, truncated, unsupported (also in builds without VTOWER_VIDEO),
// too_large, aspect_ratio, out_of_range, usage.
std::unique_ptr<const MediaItem> open_video_item(const std::filesystem::path& path,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options);

}  // namespace vtower
