// How far two sets of token rows are apart, token by token.
//
// Nothing is pooled or normalised first, the worst token decides, and a value that is no number
// never passes: accept-form comparisons (`error <= limit`) are the only ones used.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "check/token_rows.h"
#include "check/token_sums.h"

namespace vtower {

// Whose norms the error of a token is measured in. Medians are over tokens that are finite on both
// sides.
enum class Scale {
  reference,  // the second side is the truth: max(|t|, median |t| / 2)
  smaller,    // neither is: max(min(|a|, |b|), min(median |a|, median |b|) / 2)
};

struct Quantiles {
  double median = 0;
  double p90 = 0;
  double p99 = 0;
};

// Of the tokens of one item. Statistics are over tokens that are finite on both sides, and NaN
// where there is none.
struct ItemComparison {
  std::int64_t tokens = 0;
  std::vector<float> errors;     // of each token: |x - t| / scale; NaN where either is not finite
  std::int64_t worst_token = 0;  // the first that is not finite, else that of the largest error
  double worst_error = 0;        // NaN where a token is not finite, or there is none
  double pooled_error = 0;       // Frobenius: |X - T| / |T|; NaN likewise
  Quantiles quantiles;           // of the errors
  double smallest_cosine = 1;
  double median_cosine = 1;
  double cosine_p1 = 1;            // one token of a hundred has a smaller one
  double smallest_norm_ratio = 1;  // |x| / |t|
  double largest_norm_ratio = 1;
  double largest_difference = 0;  // of one value
  std::int64_t non_finite_a = 0;  // values
  std::int64_t non_finite_b = 0;
  std::int64_t beyond = 0;  // values outside of the tolerance, where one was given
  bool all_zero_a = false;
  bool all_zero_b = false;
  bool identical = false;  // the same bytes in the same element type

  // Every token is finite and within the limit. An infinite error (|t| = 0) is within none.
  [[nodiscard]] bool within(double limit) const noexcept {
    return worst_error <= limit && worst_error < std::numeric_limits<double>::infinity();
  }
};

// Both of one shape (asserted). Uses `threads` threads, and while it runs the sums of each token
// (about 100 bytes) beside `errors`. -0 is 0; sums are taken in float64. Thread-safe. Throws as
// sum_tokens() does.
ItemComparison compare_items(const TokenRows& a, const TokenRows& b, Scale scale, int threads,
                             const std::optional<ValueTolerance>& tolerance = std::nullopt);

// What the distance of each token is divided by, from the sums of all tokens of an item. An error
// is 0 where distance and scale are both 0, infinite where the scale alone is.
std::vector<double> error_scales(std::span<const TokenSums> sums, Scale scale);
double token_error(double distance, double scale) noexcept;

}  // namespace vtower
