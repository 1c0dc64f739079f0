#include "check/item_comparison.h"

#include <algorithm>
#include <array>
#include <string>

#include "rows.h"
#include "support/doctest.h"

using namespace vtower;
using test::noise;
using test::Rows;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

ItemComparison compare(const Rows& a, const Rows& b, Scale scale = Scale::reference) {
  return compare_items(a.view(), b.view(), scale, 2);
}

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("the 36 pairs of number, 0, -0, NaN, +Inf and -Inf") {
  constexpr std::array<double, 6> values{1.5, 0.0, -0.0, no_number, infinity, -infinity};
  // =: the same bytes; ~: equal in value; d: differs, error finite or infinite; x: never within.
  const std::array<std::string, 6> expected{
      "=ddxxx",  // 1.5
      "d=~xxx",  // 0
      "d~=xxx",  // -0
      "xxxxxx",  // NaN
      "xxxxxx",  // +Inf
      "xxxxxx",  // -Inf
  };
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        const char verdict = expected[i][j];
        for (const Scale scale : {Scale::reference, Scale::smaller}) {
          const ItemComparison found =
              compare({dtype, 1, {values[i]}}, {dtype, 1, {values[j]}}, scale);
          CAPTURE(i);
          CAPTURE(j);
          const bool equal = verdict == '=' || verdict == '~';
          CHECK(found.within(0) == equal);
          CHECK(found.within(1e-3) == equal);
          CHECK(std::isnan(found.worst_error) == (verdict == 'x'));
          if (verdict == 'x') {
            CHECK_FALSE(found.within(infinity));
            CHECK_FALSE(found.within(no_number));
            CHECK(found.non_finite_a + found.non_finite_b ==
                  (std::isfinite(values[i]) ? 0 : 1) + (std::isfinite(values[j]) ? 0 : 1));
          }
          CHECK(found.identical == (i == j));
        }
      }
    }
  }
}

TEST_CASE("a truth of zeros is met by zeros alone") {
  const ItemComparison found = compare({DType::f32, 2, {1e-30, 0}}, {DType::f32, 2, {0, 0}});
  CHECK(found.worst_error == infinity);
  CHECK_FALSE(found.within(infinity));
  CHECK(found.all_zero_b);
  CHECK_FALSE(found.all_zero_a);
  CHECK(compare({DType::f32, 2, {0, 0}}, {DType::f32, 2, {0, -0.0}}).within(0));
}

TEST_CASE("an error is measured in the token's norm, and small tokens in half the median") {
  // norms of the truth 4, 2, 0.5: median 2
  const Rows truth(DType::f32, 1, {4, 2, 0.5});
  const ItemComparison found = compare({DType::f32, 1, {5, 2, 0.75}}, truth);
  CHECK(found.errors == std::vector<float>{0.25F, 0.0F, 0.25F});
  CHECK(found.worst_token == 0);
  CHECK(found.largest_difference == 1);
  CHECK(found.largest_norm_ratio == 1.5);
  CHECK(found.smallest_norm_ratio == 1);
}

TEST_CASE("without a truth the order of the sides changes no number") {
  const std::int64_t width = 320;
  std::vector<double> x = noise(101 * width, 1);
  std::vector<double> y = noise(101 * width, 2);
  for (std::size_t i = 0; i < 3 * width; ++i) x[i] *= 30;
  std::fill_n(y.begin() + 5 * width, width, 0.0);
  for (const bool broken : {false, true}) {
    if (broken) x[7] = no_number;
    const Rows a(DType::bf16, width, x);
    const Rows b(DType::f32, width, y);
    const ItemComparison ab = compare(a, b, Scale::smaller);
    const ItemComparison ba = compare(b, a, Scale::smaller);
    int different = 0;
    for (std::size_t i = 0; i < ab.errors.size(); ++i) {
      if (!same_number(ab.errors[i], ba.errors[i])) ++different;
    }
    CHECK(different == 0);
    CHECK(ab.worst_token == ba.worst_token);
    CHECK(same_number(ab.worst_error, ba.worst_error));
    CHECK(same_number(ab.pooled_error, ba.pooled_error));
    CHECK(ab.smallest_cosine == ba.smallest_cosine);
    CHECK(ab.largest_difference == ba.largest_difference);
    CHECK(ab.quantiles.p99 == ba.quantiles.p99);
    CHECK(ab.non_finite_a == ba.non_finite_b);
  }
}

TEST_CASE("quantiles are over finite tokens") {
  std::vector<double> values(101);
  for (std::size_t i = 0; i < 100; ++i) values[i] = 1 + static_cast<double>(i) / 100;
  values[100] = no_number;
  const Rows ones(DType::f64, 1, std::vector<double>(101, 1.0));
  const ItemComparison found = compare({DType::f64, 1, values}, ones);
  CHECK(found.quantiles.median == doctest::Approx(0.495));
  CHECK(found.quantiles.p90 == doctest::Approx(0.89));
  CHECK(found.quantiles.p99 == doctest::Approx(0.98));
  CHECK(found.worst_token == 100);
  CHECK(std::isnan(found.worst_error));
  CHECK(std::isnan(found.errors[100]));
  CHECK(found.non_finite_a == 1);
  CHECK(found.non_finite_b == 0);
}

TEST_CASE("nothing is not within any limit") {
  const ItemComparison none = compare({DType::f32, 4, {}}, {DType::f32, 4, {}});
  CHECK(none.tokens == 0);
  CHECK_FALSE(none.within(infinity));
  CHECK_FALSE(none.identical);
}

TEST_CASE("the same bytes in another element type are not identical") {
  const Rows narrow(DType::bf16, 2, {1, 2});
  const Rows wide(DType::f32, 2, {1, 2});
  CHECK(compare(narrow, wide).within(0));
  CHECK_FALSE(compare(narrow, wide).identical);
  CHECK(compare(wide, wide).identical);
}

TEST_CASE("R96: one bad row among 400 decides, whatever the mean says") {
  const std::int64_t width = 256;
  const std::vector<double> truth = noise(400 * width, 3);
  std::vector<double> bad_row = truth;
  const std::vector<double> other = noise(width, 4);
  std::copy(other.begin(), other.end(), bad_row.begin() + 123 * width);
  const ItemComparison row = compare({DType::f32, width, bad_row}, {DType::f32, width, truth});
  CHECK(row.pooled_error < 0.1);
  CHECK(row.median_cosine == doctest::Approx(1));
  CHECK(row.quantiles.p99 == 0);
  CHECK(row.worst_token == 123);
  CHECK(row.worst_error > 1);
  CHECK(row.smallest_cosine < 0.3);
  CHECK_FALSE(row.within(3e-2));

  std::vector<double> outlier = truth;
  outlier[77 * width + 5] += 223;
  const ItemComparison channel = compare({DType::f32, width, outlier}, {DType::f32, width, truth});
  CHECK(channel.worst_token == 77);
  CHECK(channel.largest_difference == doctest::Approx(223).epsilon(1e-5));
  CHECK_FALSE(channel.within(3e-2));
}

TEST_CASE("R97: NaN on both sides never passes") {
  const std::vector<double> all(32, no_number);
  const ItemComparison everywhere = compare({DType::bf16, 8, all}, {DType::bf16, 8, all});
  CHECK(everywhere.identical);
  CHECK_FALSE(everywhere.within(1));
  CHECK(everywhere.non_finite_a == 32);
  CHECK(everywhere.non_finite_b == 32);
  std::vector<double> row(32, 1.0);
  std::fill_n(row.begin() + 16, 8, no_number);
  const ItemComparison one = compare({DType::f32, 8, row}, {DType::f32, 8, row});
  CHECK_FALSE(one.within(1));
  CHECK(one.worst_token == 2);
  CHECK(one.quantiles.p99 == 0);
}

TEST_CASE("R98: a high cosine does not pass; norms say what the cosine cannot") {
  const std::vector<double> x = noise(64 * 256, 5);
  std::vector<double> scaled = x;
  for (double& value : scaled) value *= 1.86;
  const ItemComparison found = compare({DType::f64, 256, scaled}, {DType::f64, 256, x});
  CHECK(found.smallest_cosine == doctest::Approx(1));
  CHECK(found.smallest_norm_ratio == doctest::Approx(1.86));
  CHECK(found.largest_norm_ratio == doctest::Approx(1.86));
  CHECK_FALSE(found.within(0.5));
}
