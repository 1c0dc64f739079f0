// How far two sets of token rows are apart, token by token.
//
// Nothing is pooled or normalised first, the worst token decides, and a value that is no number
// never passes: accept-form comparisons (`error <= limit`) are the only ones used.
#pragma once

#include <cstdint>
#include <vector>

#include "check/token_rows.h"

namespace vtower {

// Whose norms the error of a token is measured in.
enum class Scale {
  reference,  // the second side is the truth: max(|t|, median |t| / 2)
  smaller,    // neither is: the smaller of both sides' norms, so that their order cannot matter
};

struct Quantiles {
  double median = 0;
  double p90 = 0;
  double p99 = 0;
};

// Of the tokens of one item. Statistics over values are over tokens that are finite on both sides.
struct ItemComparison {
  std::int64_t tokens = 0;
  std::vector<float> errors;  // of each token: |x - t| / scale; NaN where either is not finite
  std::int64_t worst_token = 0;  // the first that is not finite, else that of the largest error
  double worst_error = 0;        // NaN where a token is not finite
  double pooled_error = 0;       // Frobenius: |X - T| / |T|; NaN likewise
  Quantiles quantiles;
  double smallest_cosine = 1;
  double smallest_norm_ratio = 1;  // |x| / |t|
  double largest_norm_ratio = 1;
  double largest_difference = 0;  // of one value
  std::int64_t non_finite_a = 0;  // values
  std::int64_t non_finite_b = 0;
  bool all_zero_a = false;
  bool all_zero_b = false;
  bool identical = false;  // the same bytes in the same element type

  // Every token is finite and within the limit.
  [[nodiscard]] bool within(double limit) const noexcept { return worst_error <= limit; }
};

// Both of one shape (asserted). Uses `threads` threads and constant memory beside `errors`. -0 is
// 0; sums are taken in float64. Thread-safe.
ItemComparison compare_items(const TokenRows& a, const TokenRows& b, Scale scale, int threads);

}  // namespace vtower
