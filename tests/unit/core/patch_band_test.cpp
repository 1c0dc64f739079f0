#include "core/patch_band.h"

#include <random>
#include <vector>

#include "support/doctest.h"

using namespace vtower;

namespace {

// Bytes around the rows have to stay as they are.
constexpr std::size_t margin = 64;

std::vector<std::uint8_t> written(const PatchBand& shape, std::vector<std::uint8_t> rgb,
                                  std::size_t rows, void (*put)(const PatchBand&)) {
  std::vector<std::uint8_t> out(rows * static_cast<std::size_t>(shape.row_width) + 2 * margin, 7);
  PatchBand band = shape;
  band.rgb = rgb.data();
  band.first = out.data() + margin;
  put(band);
  return out;
}

}  // namespace

TEST_CASE("the vectorised scatter equals its definition and touches nothing else") {
  std::mt19937 random(3);
  for (const std::int64_t side : {2, 14, 15, 16, 20}) {
    for (const std::int64_t frames : {1, 2, 3}) {
      for (std::int64_t copies = 1; copies <= frames; ++copies) {
        for (const std::int64_t merge : {1, 2, 3}) {
          const std::int64_t patches = merge * 5;
          const PatchBand shape{.rgb = nullptr,
                                .line_stride = 3 * patches * side + 5,
                                .first = nullptr,
                                .patches = patches,
                                .patch_size = side,
                                .merge_size = merge,
                                .row_width = 3 * frames * side * side,
                                .channel_stride = frames * side * side,
                                .copies = copies};
          // Exactly as many bytes as the lines have: reading beyond them is for the sanitizer.
          std::vector<std::uint8_t> rgb(
              static_cast<std::size_t>(shape.line_stride * (side - 1) + 3 * patches * side));
          for (std::uint8_t& byte : rgb) byte = static_cast<std::uint8_t>(random());
          const auto rows = static_cast<std::size_t>(patches * merge);
          CAPTURE(side);
          CAPTURE(copies);
          CHECK(written(shape, rgb, rows, put_patch_band) ==
                written(shape, rgb, rows, put_patch_band_plain));
        }
      }
    }
  }
}

TEST_CASE("a band lands in merge order") {
  // Two tokens of 2 x 2 patches, 2 x 2 pixels each; the first line of patches of both.
  const std::vector<std::uint8_t> rgb = {// red, green, blue of the pixels 0..7 of two lines
                                         1,  101, 201, 2,  102, 202, 3,  103, 203, 4,  104, 204,
                                         5,  105, 205, 6,  106, 206, 7,  107, 207, 8,  108, 208,
                                         11, 111, 211, 12, 112, 212, 13, 113, 213, 14, 114, 214,
                                         15, 115, 215, 16, 116, 216, 17, 117, 217, 18, 118, 218};
  const PatchBand shape{.rgb = nullptr,
                        .line_stride = 24,
                        .first = nullptr,
                        .patches = 4,
                        .patch_size = 2,
                        .merge_size = 2,
                        .row_width = 12,
                        .channel_stride = 4,
                        .copies = 1};
  const std::vector<std::uint8_t> out = written(shape, rgb, 8, put_patch_band_plain);
  const auto row = [&](std::size_t i) {
    const auto start = out.begin() + static_cast<std::ptrdiff_t>(margin + 12 * i);
    return std::vector<int>(start, start + 12);
  };
  CHECK(row(0) == std::vector<int>{1, 2, 11, 12, 101, 102, 111, 112, 201, 202, 211, 212});
  CHECK(row(1) == std::vector<int>{3, 4, 13, 14, 103, 104, 113, 114, 203, 204, 213, 214});
  CHECK(row(2) == std::vector<int>(12, 7));  // the second line of patches of token 0
  CHECK(row(4) == std::vector<int>{5, 6, 15, 16, 105, 106, 115, 116, 205, 206, 215, 216});
  CHECK(row(5) == std::vector<int>{7, 8, 17, 18, 107, 108, 117, 118, 207, 208, 217, 218});
}
