// The Pillow back end against Pillow itself, every kernel.
#include <doctest/doctest.h>

#include "core/digest.h"
#include "media/resize.h"
#include "support/golden.h"

using namespace vtower;

namespace {

// The noise of tests/golden/made/make_resize.py.
Frame noise(std::uint32_t seed, ImageSize size) {
  Frame frame(size);
  for (std::size_t i = 0; i < frame.pixels.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    const std::uint32_t level = seed >> 24;
    frame.pixels.data()[i] = static_cast<std::uint8_t>(level > 191 ? 255 : level < 64 ? 0 : level);
  }
  return frame;
}

}  // namespace

TEST_CASE("every kernel of Pillow") {
  const nlohmann::json reference = test::golden_json("made/resize.json");
  REQUIRE(reference["cases"].size() == 160);
  for (const nlohmann::json& c : reference["cases"]) {
    CAPTURE(c.dump());
    const ImageSize source{c["source"][0], c["source"][1]};
    const ImageSize target{c["target"][0], c["target"][1]};
    const Resizer resizer(source, target, static_cast<Resample>(c["resample"].get<int>()),
                          ResizeBackend::pillow);
    const Frame resized = resizer.resize(noise(c["seed"], source));
    CHECK(sha256_hex(resized.pixels.span()) == c["sha256"]);
  }
}
