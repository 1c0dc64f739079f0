#include "media/smart_resize.h"

#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;

namespace {

constexpr PixelLimits qwen2_hub{3136, 12845056};
constexpr PixelLimits qwen3_hub{65536, 16777216};
constexpr PixelLimits no_limits{0, INT64_C(1) << 40};

ErrorKind kind_of_failure(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("expected an error");
  return {};
}

// What one case of smart_resize.json asks for.
ImageSize resized(const nlohmann::json& c) {
  const ImageSize source{c["H"], c["W"]};
  const PixelLimits limits{c["min"], c["max"]};
  return c["kind"] == "image"
             ? smart_resize_frame(source, c["factor"], limits)
             : smart_resize_clip(c["n"], source, c["factor"], c["temporal_factor"], limits);
}

}  // namespace

TEST_CASE("every case of the reference") {
  const nlohmann::json reference = test::golden_json("media/smart_resize.json");
  REQUIRE(reference["cases"].size() == 600);
  for (const nlohmann::json& c : reference["cases"]) {
    CAPTURE(c.dump());
    if (c.contains("out")) {
      CHECK(resized(c) == ImageSize{c["out"][0], c["out"][1]});
    } else {
      const ErrorKind expected =
          c["error"] == "aspect_ratio" ? ErrorKind::aspect_ratio : ErrorKind::out_of_range;
      CHECK(kind_of_failure([&] { resized(c); }) == expected);
    }
  }
}

TEST_CASE("halves go to the even multiple (report 39)") {
  CHECK(smart_resize_frame({720, 1280}, 32, no_limits) == ImageSize{704, 1280});
  CHECK(smart_resize_frame({70, 126}, 28, no_limits) == ImageSize{56, 112});
  int sides_28 = 0;
  int sides_32 = 0;
  for (std::int64_t side = 1; side <= 4096; ++side) {
    // The integer statement of the rule: nearest multiple, ties to the even quotient.
    const auto expected = [side](std::int64_t f) {
      const std::int64_t low = side / f;
      const std::int64_t twice = 2 * (side % f);
      return (twice < f || (twice == f && low % 2 == 0) ? low : low + 1) * f;
    };
    const auto away = [side](std::int64_t f) { return (2 * side + f) / (2 * f) * f; };
    CHECK(smart_resize_frame({side, side}, 28, no_limits).height == expected(28));
    CHECK(smart_resize_frame({side, side}, 32, no_limits).height == expected(32));
    sides_28 += expected(28) != away(28);
    sides_32 += expected(32) != away(32);
  }
  CHECK(sides_28 == 73);
  CHECK(sides_32 == 64);
}

TEST_CASE("there is no minimum side (report 44)") {
  for (const std::int64_t side : {27, 28, 31, 32, 33}) {
    CAPTURE(side);
    CHECK(smart_resize_frame({side, side}, 28, qwen2_hub) == ImageSize{56, 56});
    CHECK(smart_resize_frame({side, side}, 32, qwen3_hub) == ImageSize{256, 256});
  }
  CHECK(smart_resize_frame({27, 300}, 28, qwen2_hub) == ImageSize{28, 308});
  CHECK(smart_resize_frame({300, 27}, 28, qwen2_hub) == ImageSize{308, 28});
  CHECK(smart_resize_frame({27, 300}, 32, qwen3_hub) == ImageSize{96, 864});
  CHECK(smart_resize_frame({300, 27}, 32, qwen3_hub) == ImageSize{864, 96});
}

TEST_CASE("a ratio of exactly 200 is the last one (report 103)") {
  CHECK(smart_resize_frame({5, 1000}, 28, qwen2_hub) == ImageSize{28, 812});
  CHECK(smart_resize_frame({5, 1000}, 32, qwen3_hub) == ImageSize{32, 3648});
  for (const ImageSize size : {ImageSize{5, 1093}, ImageSize{1093, 5}, ImageSize{5, 1001}}) {
    CHECK(kind_of_failure([&] { smart_resize_frame(size, 28, qwen2_hub); }) ==
          ErrorKind::aspect_ratio);
  }
}
