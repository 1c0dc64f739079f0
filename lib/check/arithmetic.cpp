#include "check/arithmetic.h"

#include <cmath>
#include <limits>

namespace vtower {
namespace {

// Volatile, so that the compiler has to ask the processor; what it may assume of the result is what
// is looked for.
template <typename Value>
Value opaque(Value value) noexcept {
  volatile Value hidden = value;
  return hidden;
}

bool nan_is_kept() noexcept {
  const double nan = opaque(std::numeric_limits<double>::quiet_NaN());
  const double one = opaque(1.0);
  return nan != nan && !(nan <= one) && !(nan > one) && !(one <= nan);
}

bool infinity_is_kept() noexcept {
  const double infinity = opaque(std::numeric_limits<double>::infinity());
  const double difference = infinity - infinity;
  return difference != 0 && !(infinity <= opaque(std::numeric_limits<double>::max()));
}

bool sign_of_zero_is_kept() noexcept {
  return !std::signbit(opaque(-0.0) + 0.0);
}

bool order_of_sums_is_kept() noexcept {
  const double large = opaque(0x1p60);
  const double small = opaque(1.0);
  return (large + small) - large == 0;
}

bool denormals_are_kept() noexcept {
  const auto narrow = opaque(std::numeric_limits<float>::denorm_min());
  const double wide = opaque(std::numeric_limits<double>::denorm_min());
  return static_cast<double>(narrow) > 0 && wide + wide > wide;
}

}  // namespace

bool arithmetic_is_ieee() noexcept {
  return nan_is_kept() && infinity_is_kept() && sign_of_zero_is_kept() && order_of_sums_is_kept() &&
         denormals_are_kept();
}

}  // namespace vtower
