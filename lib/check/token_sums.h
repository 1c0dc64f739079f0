// What is summed over the values of one token on both sides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "check/token_rows.h"

namespace vtower {

// A value of b is met by one of a where |a - b| <= atol + rtol * |b|. Both at least 0.
struct ValueTolerance {
  double atol = 0;
  double rtol = 0;
};

// Where a value of either side is not finite only the last three are set; the rest is NaN.
struct TokenSums {
  double norm_a = 0;
  double norm_b = 0;
  double distance = 0;            // |a - b|
  double cosine = 1;              // 1 where both are all zero, 0 where one is
  double largest_difference = 0;  // of one value
  std::int64_t non_finite_a = 0;  // values
  std::int64_t non_finite_b = 0;
  std::int64_t beyond = 0;  // values outside of the tolerance

  [[nodiscard]] bool finite() const noexcept { return non_finite_a == 0 && non_finite_b == 0; }
};

// One entry for each token. Both of one shape (asserted), in any two element types, u8 for pixels
// among them. Values are
// widened before anything is subtracted, sums are taken in float64, in an order that depends on
// nothing but the width. Throws Error{mode_unavailable} where arithmetic is not IEEE 754's.
// Thread-safe; uses up to `threads` threads.
std::vector<TokenSums> sum_tokens(const TokenRows& a, const TokenRows& b,
                                  const std::optional<ValueTolerance>& tolerance, int threads);

// The values [first, first + out.size()) of a row, widened without loss.
void widen(const TokenRows& rows, std::int64_t row, std::int64_t first, std::span<double> out);

}  // namespace vtower
