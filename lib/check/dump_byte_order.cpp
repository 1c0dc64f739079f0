#include "check/dump_byte_order.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vtower {
namespace {

constexpr std::int64_t most_sampled_rows = 64;  // of a tensor
constexpr std::int64_t most_sampled_columns = 64;
constexpr std::int64_t least_sampled = 32;  // values, for any remark

struct FloatFormat {
  int mantissa_bits = 0;
  int exponent_bits = 0;
};

FloatFormat format_of(DType type) {
  switch (type) {
    case DType::f16: return {10, 5};
    case DType::bf16: return {7, 8};
    case DType::f64: return {52, 11};
    default: return {23, 8};
  }
}

// How the magnitudes of the finite values other than 0 are spread.
class Magnitudes {
 public:
  explicit Magnitudes(DType type) : format_(format_of(type)) {}

  void add(std::uint64_t bits) {
    const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format_.mantissa_bits) - 1);
    const int largest = (1 << format_.exponent_bits) - 1;
    const int exponent = static_cast<int>(bits >> format_.mantissa_bits) & largest;
    if (exponent == largest || (exponent == 0 && mantissa == 0)) return;
    const double fraction = std::ldexp(static_cast<double>(mantissa), -format_.mantissa_bits);
    const double log2 =
        exponent == 0 ? 1 + std::log2(fraction) : exponent + std::log2(1 + fraction);
    ++count_;
    if (exponent == 0) ++denormal_;
    sum_ += log2;
    squares_ += log2 * log2;
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool mostly_denormal() const { return 2 * denormal_ > count_; }
  // Standard deviation in binary orders of magnitude: about 1.5 for values of a normal
  // distribution.
  [[nodiscard]] double spread() const {
    const double mean = sum_ / static_cast<double>(count_);
    return std::sqrt(std::max(0.0, squares_ / static_cast<double>(count_) - mean * mean));
  }

 private:
  FloatFormat format_;
  std::int64_t count_ = 0;
  std::int64_t denormal_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

std::uint64_t swapped(std::uint64_t bits, std::size_t size) {
  std::uint64_t turned = 0;
  for (std::size_t i = 0; i < size; ++i) turned |= (bits >> (8 * i) & 255) << (8 * (size - 1 - i));
  return turned;
}

}  // namespace

std::optional<std::string> byte_order_remark(std::span<const TokenRows> tensors) {
  if (tensors.empty()) return std::nullopt;
  const DType type = tensors.front().dtype;
  const std::size_t size = size_of(type);
  Magnitudes as_read(type);
  Magnitudes turned(type);
  for (const TokenRows& tensor : tensors.first(std::min<std::size_t>(tensors.size(), 64))) {
    if (tensor.dtype != type) continue;
    for (std::int64_t r = 0; r < tensor.rows; r += 1 + tensor.rows / most_sampled_rows) {
      const std::span<const std::uint8_t> row = tensor.row(r);
      for (std::int64_t c = 0; c < tensor.width; c += 1 + tensor.width / most_sampled_columns) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, row.data() + static_cast<std::size_t>(c) * size, size);
        as_read.add(bits);
        turned.add(swapped(bits, size));
      }
    }
  }
  if (as_read.count() < least_sampled) return std::nullopt;
  if (as_read.mostly_denormal()) {
    return "most values are denormal (below the smallest normal number): written in the other "
           "byte order?";
  }
  const bool tidier = turned.count() >= least_sampled && 2 * turned.spread() < as_read.spread();
  if (tidier && turned.spread() < 4) {
    return "the magnitudes look as if the bytes of each value were in the other order";
  }
  return std::nullopt;
}

}  // namespace vtower
