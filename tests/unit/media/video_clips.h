// The clips of the reference data and what their decoders gave.
#pragma once

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/digest.h"
#include "core/error.h"
#include "core/file.h"
#include "media/video_convert.h"
#include "media/video_decoder.h"
#include "media/video_index.h"
#include "support/doctest.h"
#include "support/golden.h"

namespace vtower::test {

inline constexpr std::int64_t no_cap = 178'956'970;

struct Clip {
  explicit Clip(const std::filesystem::path& path)
      : file(path), container(file.bytes(), no_cap), index(scan_frames(container)) {}

  MappedFile file;
  VideoContainer container;
  FrameIndex index;
};

inline Clip golden_clip(const std::string& name) {
  return Clip(golden("media/videos/" + name));
}

inline std::vector<std::int64_t> all_frames(const FrameIndex& index) {
  std::vector<std::int64_t> all(index.frames.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// SHA-256 of the RGB of each wanted frame. Nothing may be damaged.
inline std::map<std::int64_t, std::string> frame_digests(const Clip& clip,
                                                         const std::vector<std::int64_t>& wanted,
                                                         Profile profile,
                                                         Walk walk = Walk::seeking) {
  FrameConverter converter(profile, clip.container.rotation_degrees());
  std::map<std::int64_t, std::string> digests;
  const std::vector<std::int64_t> damaged =
      decode_frames(clip.file.bytes(), clip.index, wanted, {walk, 1, no_cap},
                    [&](std::int64_t frame, const AVFrame& source) {
                      digests[frame] = sha256_hex(converter.convert(source).pixels.span());
                    });
  CHECK(damaged.empty());
  return digests;
}

template <typename Work>
ErrorKind kind_of_error(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL_CHECK("expected an Error");
  return ErrorKind::peer;
}

}  // namespace vtower::test
