// The vectorised kernels against their plain definitions.
#include "media/resize_kernels.h"

#include <array>
#include <random>

#include "support/doctest.h"

using namespace vtower;

namespace {

std::vector<std::uint8_t> noise(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) {
    const auto draw = static_cast<std::uint32_t>(random());
    byte = static_cast<std::uint8_t>((draw & 256) != 0 ? draw : (draw & 512) != 0 ? 255 : 0);
  }
  return bytes;
}

}  // namespace

TEST_CASE("vectorised and plain kernels give the same bytes") {
  std::vector<CpuLevel> levels;
  for (const CpuLevel level : {CpuLevel::avx2, CpuLevel::vnni}) {
    if (level <= best_cpu_level()) levels.push_back(level);
  }
  MESSAGE(levels.size(), " of 2 vectorised levels run on this CPU");
  std::mt19937 random(11);
  for (std::uint32_t n = 0; n < 400; ++n) {
    const auto source = static_cast<std::int64_t>(1 + random() % (n % 5 == 0 ? 3000 : 80));
    const auto target = static_cast<std::int64_t>(1 + random() % (n % 3 == 0 ? 200 : 60));
    const Resample kernel = n % 2 == 0 ? Resample::bicubic : Resample::bilinear;
    const AxisWeights axis = axis_weights(source, target, kernel, WeightRule::int16_adaptive);
    CAPTURE(source);
    CAPTURE(target);

    const auto bytes = static_cast<std::size_t>(3 * target);
    const auto first = noise(static_cast<std::size_t>(3 * source) + line_slack, n);
    const auto second = noise(static_cast<std::size_t>(3 * source) + line_slack, n + 500);
    const auto two_lines = [&](CpuLevel level) {
      std::array<std::vector<std::uint8_t>, 2> out;
      for (auto& line : out) line.resize(bytes + line_slack);
      resize_two_lines(first.data(), second.data(), axis, level, out[0].data(), out[1].data());
      for (auto& line : out) line.resize(bytes);
      return out;
    };

    const auto i = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(target));
    const auto taps = static_cast<std::size_t>(axis.count[static_cast<std::size_t>(i)]);
    const std::size_t width = 1 + random() % 150;
    std::vector<std::vector<std::uint8_t>> lines;
    std::vector<const std::uint8_t*> pointers;
    for (std::size_t j = 0; j < taps; ++j) {
      lines.push_back(noise(width + line_slack, n + 1000 + static_cast<std::uint32_t>(j)));
      pointers.push_back(lines.back().data());
    }
    const auto combined = [&](CpuLevel level) {
      std::vector<std::uint8_t> out(width + line_slack);
      combine_lines(pointers, axis, i, width, level, out.data());
      out.resize(width);
      return out;
    };

    const auto plain_lines = two_lines(CpuLevel::plain);
    const auto plain_combined = combined(CpuLevel::plain);
    for (const CpuLevel level : levels) {
      CAPTURE(static_cast<int>(level));
      CHECK(two_lines(level) == plain_lines);
      CHECK(combined(level) == plain_combined);
    }
  }
}
