#include "check/item_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The mean of the two middle values where their count is even.
double median(std::vector<double>& values) {
  if (values.empty()) return nan;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

// The smallest value that `share` of the values do not exceed.
double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return nan;
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + std::max<std::ptrdiff_t>(rank - 1, 0);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

template <typename Of>
std::vector<double> of_finite(std::span<const TokenSums> sums, Of of) {
  std::vector<double> values;
  values.reserve(sums.size());
  for (const TokenSums& token : sums) {
    if (token.finite()) values.push_back(of(token));
  }
  return values;
}

bool same_bytes(const TokenRows& a, const TokenRows& b) {
  if (a.dtype != b.dtype) return false;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    if (std::memcmp(a.row(row).data(), b.row(row).data(), a.row_bytes()) != 0) return false;
  }
  return a.rows > 0 && a.width > 0;
}

double ratio(double x, double t) noexcept {
  return x == t ? 1.0 : x / t;
}

void add_errors(std::span<const TokenSums> sums, Scale scale, ItemComparison& found) {
  const std::vector<double> scales = error_scales(sums, scale);
  std::vector<double> finite;
  finite.reserve(sums.size());
  found.errors.reserve(sums.size());
  std::optional<std::int64_t> broken;
  double largest = -1;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double error = sums[i].finite() ? token_error(sums[i].distance, scales[i]) : nan;
    found.errors.push_back(static_cast<float>(error));
    if (!sums[i].finite()) {
      if (!broken) broken = static_cast<std::int64_t>(i);
      continue;
    }
    finite.push_back(error);
    if (error > largest) {
      largest = error;
      found.worst_token = static_cast<std::int64_t>(i);
    }
  }
  found.worst_error = broken || finite.empty() ? nan : largest;
  if (broken) found.worst_token = *broken;
  found.quantiles = {median(finite), quantile(finite, 0.9), quantile(finite, 0.99)};
}

// Norms over the whole item; hypot keeps clear of overflow.
void add_pooled(std::span<const TokenSums> sums, Scale scale, ItemComparison& found) {
  double a = 0;
  double b = 0;
  double distance = 0;
  for (const TokenSums& token : sums) {
    a = std::hypot(a, token.norm_a);
    b = std::hypot(b, token.norm_b);
    distance = std::hypot(distance, token.distance);
  }
  const bool whole = found.non_finite_a == 0 && found.non_finite_b == 0 && !sums.empty();
  found.pooled_error =
      whole ? token_error(distance, scale == Scale::reference ? b : std::min(a, b)) : nan;
  found.all_zero_a = whole && a == 0;
  found.all_zero_b = whole && b == 0;
}

void add_shapes(std::span<const TokenSums> sums, ItemComparison& found) {
  std::vector<double> cosines = of_finite(sums, [](const TokenSums& t) { return t.cosine; });
  found.smallest_cosine = quantile(cosines, 0);
  found.cosine_p1 = quantile(cosines, 0.01);
  found.median_cosine = median(cosines);
  std::vector<double> ratios =
      of_finite(sums, [](const TokenSums& t) { return ratio(t.norm_a, t.norm_b); });
  found.smallest_norm_ratio = quantile(ratios, 0);
  found.largest_norm_ratio = quantile(ratios, 1);
  std::vector<double> largest =
      of_finite(sums, [](const TokenSums& t) { return t.largest_difference; });
  found.largest_difference = quantile(largest, 1);
}

}  // namespace

std::vector<double> error_scales(std::span<const TokenSums> sums, Scale scale) {
  std::vector<double> norms_b = of_finite(sums, [](const TokenSums& t) { return t.norm_b; });
  double floor = median(norms_b);
  if (scale == Scale::smaller) {
    std::vector<double> norms_a = of_finite(sums, [](const TokenSums& t) { return t.norm_a; });
    floor = std::min(median(norms_a), floor);
  }
  std::vector<double> scales;
  scales.reserve(sums.size());
  for (const TokenSums& token : sums) {
    const double norm =
        scale == Scale::reference ? token.norm_b : std::min(token.norm_a, token.norm_b);
    scales.push_back(std::max(norm, floor / 2));
  }
  return scales;
}

double token_error(double distance, double scale) noexcept {
  return distance == 0 ? 0.0 : distance / scale;
}

ItemComparison compare_items(const TokenRows& a, const TokenRows& b, Scale scale, int threads,
                             const std::optional<ValueTolerance>& tolerance) {
  const std::vector<TokenSums> sums = sum_tokens(a, b, tolerance, threads);
  ItemComparison found;
  found.tokens = a.rows;
  for (const TokenSums& token : sums) {
    found.non_finite_a += token.non_finite_a;
    found.non_finite_b += token.non_finite_b;
    found.beyond += token.beyond;
  }
  add_errors(sums, scale, found);
  add_pooled(sums, scale, found);
  add_shapes(sums, found);
  found.identical = same_bytes(a, b);
  return found;
}

}  // namespace vtower
