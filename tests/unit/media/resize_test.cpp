#include "media/resize.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "core/error.h"

using namespace vtower;

namespace {

std::string text(ImageSize size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

Frame noise(ImageSize size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Frame frame(size);
  // Half of the levels are the extremes, so that sums overshoot and are clipped.
  for (std::size_t i = 0; i < frame.pixels.size(); ++i) {
    const auto draw = static_cast<std::uint32_t>(random());
    frame.pixels.data()[i] = static_cast<std::uint8_t>((draw & 256) != 0   ? draw
                                                       : (draw & 512) != 0 ? 255
                                                                           : 0);
  }
  return frame;
}

Frame aten_resize(Frame& frame, ImageSize target, Resample kernel) {
  const at::Tensor planes =
      at::from_blob(frame.pixels.data(), {1, frame.size.height, frame.size.width, 3}, at::kByte)
          .permute({0, 3, 1, 2})
          .contiguous();
  at::Tensor resized;
  switch (kernel) {
    case Resample::bicubic:
      resized = at::_upsample_bicubic2d_aa(planes, {target.height, target.width}, false);
      break;
    case Resample::bilinear:
      resized = at::_upsample_bilinear2d_aa(planes, {target.height, target.width}, false);
      break;
    default: resized = at::upsample_nearest2d(planes, {target.height, target.width}); break;
  }
  resized = resized.permute({0, 2, 3, 1}).contiguous();
  Frame result(target);
  std::memcpy(result.pixels.data(), resized.data_ptr<std::uint8_t>(), result.pixels.size());
  return result;
}

std::size_t differing(const Frame& a, const Frame& b) {
  REQUIRE(a.size == b.size);
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    count += a.pixels.data()[i] != b.pixels.data()[i];
  }
  return count;
}

void check_equal_to_aten(ImageSize source, ImageSize target, Resample kernel, std::uint32_t seed) {
  CAPTURE(text(source));
  CAPTURE(text(target));
  CAPTURE(static_cast<int>(kernel));
  Frame frame = noise(source, seed);
  const Frame expected = aten_resize(frame, target, kernel);
  const Resizer resizer(source, target, kernel, ResizeBackend::torchvision);
  CHECK(differing(resizer.resize(frame), expected) == 0);
}

}  // namespace

TEST_CASE("chosen shapes equal ATen") {
  const std::vector<std::pair<ImageSize, ImageSize>> shapes = {
      {{60, 80}, {56, 84}},       {{480, 640}, {476, 644}}, {{1, 1}, {56, 56}},
      {{1, 50}, {28, 420}},       {{50, 1}, {420, 28}},     {{13, 2600}, {28, 2604}},
      {{2600, 13}, {812, 28}},    {{3, 2}, {56, 84}},       {{700, 1000}, {364, 532}},
      {{1000, 31}, {56, 28}},     {{28, 56}, {28, 84}},     {{28, 56}, {56, 56}},
      {{4000, 28}, {28, 28}},     {{28, 4000}, {28, 28}},   {{17, 19}, {19, 17}},
      {{1024, 128}, {1036, 140}}, {{2, 4096}, {28, 28}},    {{64, 64}, {112, 112}},
      {{64, 64}, {28, 28}}};
  std::uint32_t seed = 1;
  for (const auto& [source, target] : shapes) {
    for (const Resample kernel : {Resample::bicubic, Resample::bilinear, Resample::nearest}) {
      check_equal_to_aten(source, target, kernel, seed++);
    }
  }
}

TEST_CASE("random shapes equal ATen") {
  std::mt19937 random(7);
  const auto side = [&](int style) -> std::int64_t {
    if (style == 0) return 1 + static_cast<std::int64_t>(random() % 8);
    if (style == 1) return 1 + static_cast<std::int64_t>(random() % 2000);
    return 1 + static_cast<std::int64_t>(random() % 200);
  };
  for (std::uint32_t n = 0; n < 600; ++n) {
    const ImageSize source{side(static_cast<int>(random() % 4)),
                           side(static_cast<int>(random() % 4))};
    const ImageSize target{side(2), side(2)};
    const Resample kernel = n % 4 == 0   ? Resample::bilinear
                            : n % 4 == 1 ? Resample::nearest
                                         : Resample::bicubic;
    check_equal_to_aten(source, target, kernel, n);
  }
}

TEST_CASE("a frame of the target size is returned as it is") {
  const Frame frame = noise({28, 56}, 3);
  const Resizer resizer({28, 56}, {28, 56}, Resample::bicubic, ResizeBackend::torchvision);
  CHECK(differing(resizer.resize(frame), frame) == 0);
}

TEST_CASE("Lanczos is refused where the reference does not have it") {
  CHECK_THROWS_AS(Resizer({8, 8}, {4, 4}, Resample::lanczos, ResizeBackend::torchvision), Error);
  CHECK_NOTHROW(Resizer({8, 8}, {4, 4}, Resample::lanczos, ResizeBackend::pillow));
}
