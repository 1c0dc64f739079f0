#include "core/raw_patches.h"

#include <cstring>

#include "core/error.h"
#include "support/doctest.h"

using namespace vtower;

namespace {

constexpr PatchLayout small_layout{.patch_size = 2, .temporal_patch_size = 2, .merge_size = 2};

// Every byte tells channel, frame and place.
std::uint8_t value(std::int64_t k, std::int64_t y, std::int64_t x, std::int64_t c) {
  return static_cast<std::uint8_t>(k * 101 + y * 17 + x * 3 + c);
}

Frame numbered_frame(std::int64_t k, ImageSize size) {
  Frame frame(size);
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) frame.row(y)[x * 3 + c] = value(k, y, x, c);
    }
  }
  return frame;
}

}  // namespace

TEST_CASE("a layout's row width and factor") {
  CHECK(PatchLayout{14, 2, 2}.row_width() == 1176);
  CHECK(PatchLayout{16, 2, 2}.row_width() == 1536);
  CHECK(PatchLayout{16, 2, 2}.factor() == 32);
}

TEST_CASE("gather refuses frames that do not fit the layout") {
  std::vector<Frame> none;
  CHECK_THROWS_AS(RawPatches::gather(none, small_layout), Error);
  std::vector<Frame> odd;
  odd.push_back(numbered_frame(0, {6, 8}));
  CHECK_THROWS_AS(RawPatches::gather(odd, small_layout), Error);
  std::vector<Frame> uneven;
  uneven.push_back(numbered_frame(0, {4, 8}));
  uneven.push_back(numbered_frame(1, {8, 4}));
  CHECK_THROWS_AS(RawPatches::gather(uneven, small_layout), Error);
}

TEST_CASE("grids of 4x6 patches come in merge order") {
  std::vector<Frame> frames;
  frames.push_back(numbered_frame(0, {8, 12}));
  const RawPatches patches = RawPatches::gather(frames, small_layout);
  CHECK(patches.rows() == 24);
  CHECK(patches.row_width() == 24);
  REQUIRE(patches.grids().size() == 1);
  CHECK(patches.grids()[0] == GridThw{1, 4, 6});
}

TEST_CASE("rows from a dump must fit their grids") {
  const auto rows = [](std::size_t n) {
    ByteBuffer buffer(n * 24);
    std::memset(buffer.data(), 7, buffer.size());
    return buffer;
  };
  CHECK(RawPatches::from_rows(rows(8), {{2, 2, 2}}, small_layout).rows() == 8);
  CHECK_THROWS_AS(RawPatches::from_rows(rows(7), {{2, 2, 2}}, small_layout), Error);
  CHECK_THROWS_AS(RawPatches::from_rows(rows(9), {{1, 3, 3}}, small_layout), Error);
  CHECK_THROWS_AS(RawPatches::from_rows(rows(4), {{-1, -2, 2}}, small_layout), Error);
  CHECK_THROWS_AS(RawPatches::from_rows(rows(4), {{1L << 40, 1L << 40, 2}}, small_layout), Error);
}
