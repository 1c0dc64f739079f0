// The preprocess axis of `bench`.
#pragma once

#include <filesystem>

#include "cli/record.h"
#include "core/pixel_spec.h"
#include "media/media_options.h"

namespace vtower::cli {

// Times a picture, from its bytes in the page cache to patch rows on one thread, beside the bare
// libjpeg-turbo decode of the same file where it is a JPEG.
Json bench_preprocess(const std::filesystem::path& file, const PixelSpec& spec,
                      const MediaOptions& options, int repeats);

// The same for a made JPEG of 1024 x 1024 pixels and quality 90, resized to 1036 x 1036.
Json bench_preprocess(int repeats);

}  // namespace vtower::cli
