// A media file on its way to patch rows: the one door of lib/media.
#pragma once

#include <filesystem>
#include <memory>

#include "core/item.h"
#include "core/pixel_spec.h"
#include "media/media_options.h"

namespace vtower {

// Opened: the header was read and the target grid is known, no pixel was decoded. Immutable;
// load() may be called from any thread, and again.
class MediaItem {
 public:
  // The type is found from the bytes, never from the name. `spec` carries the effective pixel
  // limits. Throws Error: unreadable, truncated, unsupported, too_large, aspect_ratio,
  // out_of_range.
  static std::unique_ptr<const MediaItem> open(const std::filesystem::path& path,
                                               const PixelSpec& spec, const MediaOptions& options);

  virtual ~MediaItem() = default;
  [[nodiscard]] virtual ItemHeader header() const = 0;
  // Decodes, orients, resizes once and gathers. Throws Error as open() does.
  [[nodiscard]] virtual LoadedItem load() const = 0;
};

}  // namespace vtower
