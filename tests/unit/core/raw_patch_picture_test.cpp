#include "core/raw_patch_picture.h"

#include <algorithm>
#include <vector>

#include "support/doctest.h"

using namespace vtower;

namespace {

Frame noise(ImageSize size, std::uint32_t seed) {
  Frame frame(size);
  std::uint32_t state = seed;
  for (std::size_t i = 0; i < frame.pixels.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    frame.pixels.data()[i] = static_cast<std::uint8_t>(state >> 24);
  }
  return frame;
}

bool same(const Frame& a, const Frame& b) {
  return a.size == b.size && std::ranges::equal(a.pixels.span(), b.pixels.span());
}

}  // namespace

TEST_CASE("what was gathered comes back") {
  for (const PatchLayout layout :
       {PatchLayout{2, 2, 2}, PatchLayout{14, 2, 2}, PatchLayout{3, 3, 1}, PatchLayout{4, 1, 3}}) {
    for (const std::size_t count : {1U, 2U, 5U}) {
      CAPTURE(layout.patch_size);
      CAPTURE(count);
      std::vector<Frame> frames;
      for (std::size_t k = 0; k < count; ++k) {
        frames.push_back(
            noise({layout.factor() * 2, layout.factor() * 3}, static_cast<std::uint32_t>(k + 1)));
      }
      const RawPatches patches = RawPatches::gather(frames, layout);
      const std::int64_t there = RawPatchPicture::frame_count(patches, 0);
      CHECK(there % layout.temporal_patch_size == 0);
      REQUIRE(there >= static_cast<std::int64_t>(count));
      for (std::int64_t k = 0; k < there; ++k) {
        // Groups are completed with the last frame.
        const std::size_t source = std::min<std::size_t>(static_cast<std::size_t>(k), count - 1);
        CHECK(same(RawPatchPicture::frame(patches, 0, k), frames[source]));
      }
    }
  }
}

TEST_CASE("each item of several comes back as its own") {
  const PatchLayout layout{2, 2, 2};
  std::vector<Frame> still;
  still.push_back(noise({4, 8}, 1));
  std::vector<Frame> clip;
  for (std::uint32_t k = 0; k < 4; ++k) clip.push_back(noise({8, 4}, 10 + k));
  const RawPatches a = RawPatches::gather(still, layout);
  const RawPatches b = RawPatches::gather(clip, layout);
  const std::vector<const RawPatches*> parts{&a, &b, &a};
  const RawPatches all = RawPatches::concat(parts);
  CHECK(same(RawPatchPicture::frame(all, 0, 0), still[0]));
  for (std::int64_t k = 0; k < 4; ++k) {
    CHECK(same(RawPatchPicture::frame(all, 1, k), clip[static_cast<std::size_t>(k)]));
  }
  CHECK(same(RawPatchPicture::frame(all, 2, 1), still[0]));
}
