#include "check/token_sums.h"

#include <limits>

#include "check/arithmetic.h"
#include "rows.h"
#include "support/doctest.h"

using namespace vtower;
using test::noise;
using test::Rows;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TokenSums only_token(const Rows& a, const Rows& b) {
  const std::vector<TokenSums> sums = sum_tokens(a.view(), b.view(), std::nullopt, 1);
  REQUIRE(sums.size() == 1);
  return sums[0];
}

// IEEE 754's definition of a format with `fraction` bits behind the point.
double defined(unsigned bits, int fraction, int exponent_bits) {
  const unsigned stored = bits >> fraction & ((1U << exponent_bits) - 1);
  const double part = std::ldexp(bits & ((1U << fraction) - 1), -fraction);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> (fraction + exponent_bits) != 0 ? -1 : 1;
  if (stored + 1 == 1U << exponent_bits) return part == 0 ? sign * infinity : NAN;
  if (stored == 0) return sign * std::ldexp(part, 1 - bias);
  return sign * std::ldexp(1 + part, static_cast<int>(stored) - bias);
}

int wrongly_widened(DType dtype, int fraction, int exponent_bits) {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const std::uint8_t bytes[]{static_cast<std::uint8_t>(bits),
                               static_cast<std::uint8_t>(bits >> 8)};
    double found = 0;
    widen({dtype, 1, 1, bytes}, 0, 0, std::span(&found, 1));
    const double expected = defined(bits, fraction, exponent_bits);
    const bool same = std::isnan(expected) ? std::isnan(found)
                                           : std::bit_cast<std::uint64_t>(found) ==
                                                 std::bit_cast<std::uint64_t>(expected);
    if (!same) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("every half and bfloat16 is widened to its value") {
  CHECK(wrongly_widened(DType::f16, 10, 5) == 0);
  CHECK(wrongly_widened(DType::bf16, 7, 8) == 0);
}

TEST_CASE("sums of a token, worked out by hand") {
  const TokenSums sums = only_token({DType::f32, 3, {3, 0, 4}}, {DType::f64, 3, {0, 0, 5}});
  CHECK(sums.norm_a == 5);
  CHECK(sums.norm_b == 5);
  CHECK(sums.distance == doctest::Approx(std::sqrt(10.0)));
  CHECK(sums.cosine == doctest::Approx(0.8));
  CHECK(sums.largest_difference == 3);
  CHECK(sums.finite());
}

TEST_CASE("every width is summed to its last value") {
  for (const std::int64_t width : {1, 2, 3, 4, 5, 7, 511, 512, 513, 1024, 1027}) {
    std::vector<double> zeros(static_cast<std::size_t>(width), 0);
    std::vector<double> last = zeros;
    last.back() = 2;
    CAPTURE(width);
    CHECK(only_token({DType::bf16, width, last}, {DType::bf16, width, zeros}).distance == 2);
    CHECK(only_token({DType::f64, width, zeros}, {DType::f16, width, last}).distance == 2);
  }
}

TEST_CASE("alignment, stride and threads change no bit") {
  const std::int64_t width = 1280;
  const std::size_t tokens = 700;
  const std::vector<double> x = noise(tokens * width, 1);
  const std::vector<double> y = noise(tokens * width, 2);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Rows a(dtype, width, x);
    const Rows b(dtype, width, y);
    const Rows a_apart(dtype, width, x, {1, 6});
    const Rows b_apart(dtype, width, y, {3, 1});
    const auto expected = sum_tokens(a.view(), b.view(), std::nullopt, 1);
    const auto found = sum_tokens(a_apart.view(), b_apart.view(), std::nullopt, 3);
    int different = 0;
    for (std::size_t i = 0; i < tokens; ++i) {
      if (found[i].distance != expected[i].distance || found[i].cosine != expected[i].cosine ||
          found[i].norm_a != expected[i].norm_a || found[i].norm_b != expected[i].norm_b) {
        ++different;
      }
    }
    CHECK(different == 0);
    const auto sliced =
        sum_tokens(a_apart.view().slice(690, 10), b_apart.view().slice(690, 10), std::nullopt, 1);
    CHECK(sliced.back().distance == expected.back().distance);
    CHECK(a_apart.view().slice(700, 0).rows == 0);
  }
}

TEST_CASE("squares of float64 neither overflow nor vanish") {
  for (const double size : {1e300, 1e-300, 1e-320, 1.0}) {
    const TokenSums sums =
        only_token({DType::f64, 2, {3 * size, 4 * size}}, {DType::f64, 2, {3 * size, 0}});
    CHECK(sums.norm_a / size == doctest::Approx(5).epsilon(1e-3));
    CHECK(sums.distance / size == doctest::Approx(4).epsilon(1e-3));
    CHECK(sums.cosine == doctest::Approx(0.6).epsilon(1e-3));
    CHECK(sums.finite());
  }
}

TEST_CASE("values that are not finite are counted on each side") {
  const TokenSums sums = only_token({DType::f16, 5, {NAN, 1, infinity, -infinity, 0}},
                                    {DType::f32, 5, {NAN, 1, 2, 3, 0}});
  CHECK(sums.non_finite_a == 3);
  CHECK(sums.non_finite_b == 1);
  CHECK(std::isnan(sums.distance));
}

TEST_CASE("values beyond atol + rtol * |b| are counted, NaN among them") {
  const Rows a(DType::f64, 5, {1.0, 1.25, 2.5, NAN, 0});
  const Rows b(DType::f64, 5, {1.0, 1.0, 2.0, 1.0, NAN});
  const auto beyond = [&](ValueTolerance tolerance) {
    return sum_tokens(a.view(), b.view(), tolerance, 1)[0].beyond;
  };
  CHECK(beyond({0, 0}) == 4);
  CHECK(beyond({0.25, 0}) == 3);
  CHECK(beyond({0, 0.25}) == 2);
  CHECK(beyond({infinity, 0}) == 2);
}

TEST_CASE("R102: bytes are widened before they are subtracted") {
  const TokenSums sums = only_token({DType::u8, 4, {0, 255, 7, 8}}, {DType::u8, 4, {1, 254, 8, 7}});
  CHECK(sums.largest_difference == 1);
  CHECK(sums.distance == 2);
}

TEST_CASE("arithmetic of this build is IEEE 754's") {
  CHECK(arithmetic_is_ieee());
}
