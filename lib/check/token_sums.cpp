#include "check/token_sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "check/arithmetic.h"
#include "check/refuse_fast_math.h"
#include "core/error.h"

namespace vtower {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t lanes = 4;    // partial sums side by side: what a compiler can vectorise
constexpr std::size_t block = 512;  // values that are widened at a time
constexpr std::size_t per_thread = 1 << 20;  // bytes below which a thread is not worth its start
static_assert(std::endian::native == std::endian::little);

float from_half(std::uint16_t half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(half & 0x7fffU) << 13;
  const std::uint32_t normal = rest + (rest >= 0x0f800000U ? 0x70000000U : 0x38000000U);
  // A small number has the step of 2^-14: put it behind that number's point, and subtract it.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest + 0x38800000U) - 0x1p-14F);
  return std::bit_cast<float>((rest < 0x00800000U ? small : normal) | sign);
}

float from_bfloat(std::uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

template <typename Stored, typename Wide, typename Convert>
void widen_as(const std::uint8_t* from, std::span<Wide> out, Convert convert) noexcept {
  std::array<Stored, block> stored;
  for (std::size_t done = 0; done < out.size(); done += block) {
    const std::size_t count = std::min(block, out.size() - done);
    std::memcpy(stored.data(), from + done * sizeof(Stored), count * sizeof(Stored));
    Wide* to = out.data() + done;
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Wide>(convert(stored[i]));
  }
}

// Wide: double, or float for everything but f64.
template <typename Wide>
void widen_bytes(DType dtype, const std::uint8_t* from, std::span<Wide> out) noexcept {
  const auto as_it_is = [](auto value) { return value; };
  switch (dtype) {
    case DType::f16: return widen_as<std::uint16_t>(from, out, from_half);
    case DType::bf16: return widen_as<std::uint16_t>(from, out, from_bfloat);
    case DType::f32: return widen_as<float>(from, out, as_it_is);
    case DType::f64: return widen_as<double>(from, out, as_it_is);
    case DType::u8: return widen_as<std::uint8_t>(from, out, as_it_is);
    default: assert(false && "an element type that token rows do not have");
  }
}

struct Lanes {
  std::array<double, lanes> aa{};
  std::array<double, lanes> bb{};
  std::array<double, lanes> ab{};
  std::array<double, lanes> dd{};
  std::array<double, lanes> largest{};
  std::array<double, lanes> beyond{};
};

double sum(const std::array<double, lanes>& parts) noexcept {
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// `count` is a multiple of `lanes`. `unit` is a power of two.
template <typename Wide>
void add_products(const Wide* x, const Wide* y, std::size_t count, double unit,
                  Lanes& total) noexcept {
  Lanes part = total;
  for (std::size_t i = 0; i < count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double a = static_cast<double>(x[i + lane]) * unit;
      const double b = static_cast<double>(y[i + lane]) * unit;
      const double d = a - b;
      part.aa[lane] += a * a;
      part.bb[lane] += b * b;
      part.ab[lane] += a * b;
      part.dd[lane] += d * d;
      const double size = std::abs(d);
      part.largest[lane] = size > part.largest[lane] ? size : part.largest[lane];
    }
  }
  total = part;
}

template <typename Wide>
void count_beyond(const Wide* x, const Wide* y, std::size_t count, const ValueTolerance& tolerance,
                  Lanes& total) noexcept {
  for (std::size_t i = 0; i < count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double b = static_cast<double>(y[i + lane]);
      const double size = std::abs(static_cast<double>(x[i + lane]) - b);
      const bool met = size <= tolerance.atol + tolerance.rtol * std::abs(b);
      total.beyond[lane] += met ? 0.0 : 1.0;
    }
  }
}

// Calls take(x, y, count) with both rows block by block, the last one filled up with zeros.
template <typename Wide, typename Take>
void for_each_block(const TokenRows& a, const TokenRows& b, std::int64_t row, Take take) {
  std::array<Wide, block> x;
  std::array<Wide, block> y;
  const std::uint8_t* from_a = a.row(row).data();
  const std::uint8_t* from_b = b.row(row).data();
  const auto width = static_cast<std::size_t>(a.width);
  for (std::size_t done = 0; done < width; done += block) {
    const std::size_t count = std::min(block, width - done);
    widen_bytes<Wide>(a.dtype, from_a + done * size_of(a.dtype), std::span(x.data(), count));
    widen_bytes<Wide>(b.dtype, from_b + done * size_of(b.dtype), std::span(y.data(), count));
    const std::size_t filled = (count + lanes - 1) / lanes * lanes;
    std::fill(x.begin() + count, x.begin() + filled, Wide{0});
    std::fill(y.begin() + count, y.begin() + filled, Wide{0});
    take(x.data(), y.data(), filled);
  }
}

struct Extent {
  std::int64_t non_finite_a = 0;
  std::int64_t non_finite_b = 0;
  double largest = 0;  // of the finite values
};

template <typename Wide>
Extent extent_of(const TokenRows& a, const TokenRows& b, std::int64_t row) {
  Extent extent;
  const auto take = [&](const Wide* values, std::size_t count, std::int64_t& non_finite) {
    for (std::size_t i = 0; i < count; ++i) {
      const double size = std::abs(static_cast<double>(values[i]));
      if (!(size <= std::numeric_limits<double>::max())) {
        ++non_finite;
      } else if (size > extent.largest) {
        extent.largest = size;
      }
    }
  };
  for_each_block<Wide>(a, b, row, [&](const Wide* x, const Wide* y, std::size_t count) {
    take(x, count, extent.non_finite_a);
    take(y, count, extent.non_finite_b);
  });
  return extent;
}

double cosine_of(double ab, double aa, double bb) noexcept {
  if (aa == 0 && bb == 0) return 1;
  if (aa == 0 || bb == 0) return 0;
  return std::clamp(ab / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0);
}

template <typename Wide>
TokenSums sum_token(const TokenRows& a, const TokenRows& b, std::int64_t row,
                    const std::optional<ValueTolerance>& tolerance) {
  double unit = 1;
  const auto products = [&] {
    Lanes total;
    for_each_block<Wide>(a, b, row, [&](const Wide* x, const Wide* y, std::size_t count) {
      add_products(x, y, count, unit, total);
      if (tolerance) count_beyond(x, y, count, *tolerance, total);
    });
    return total;
  };
  Lanes total = products();
  TokenSums sums;
  // Squares of float32 stay far from the ends of float64, those of float64 may not.
  constexpr double smallest = 0x1p-900;
  const double squares = sum(total.aa) + sum(total.bb);
  if (!(squares <= std::numeric_limits<double>::max() && squares >= smallest)) {
    const Extent extent = extent_of<Wide>(a, b, row);
    if (extent.non_finite_a != 0 || extent.non_finite_b != 0) {
      return {nan,
              nan,
              nan,
              nan,
              nan,
              extent.non_finite_a,
              extent.non_finite_b,
              static_cast<std::int64_t>(sum(total.beyond))};
    }
    if (extent.largest > 0) {
      unit = std::ldexp(1.0, std::clamp(-std::ilogb(extent.largest), -1000, 1000));
      total = products();
    }
  }
  sums.norm_a = std::sqrt(sum(total.aa)) / unit;
  sums.norm_b = std::sqrt(sum(total.bb)) / unit;
  sums.distance = std::sqrt(sum(total.dd)) / unit;
  sums.cosine = cosine_of(sum(total.ab), sum(total.aa), sum(total.bb));
  sums.largest_difference = *std::max_element(total.largest.begin(), total.largest.end()) / unit;
  sums.beyond = static_cast<std::int64_t>(sum(total.beyond));
  return sums;
}

void sum_range(const TokenRows& a, const TokenRows& b,
               const std::optional<ValueTolerance>& tolerance, std::int64_t first,
               std::span<TokenSums> out) {
  const bool wide = a.dtype == DType::f64 || b.dtype == DType::f64;
  for (TokenSums& sums : out) {
    sums =
        wide ? sum_token<double>(a, b, first, tolerance) : sum_token<float>(a, b, first, tolerance);
    ++first;
  }
}

}  // namespace

std::vector<TokenSums> sum_tokens(const TokenRows& a, const TokenRows& b,
                                  const std::optional<ValueTolerance>& tolerance, int threads) {
  assert(a.rows == b.rows && a.width == b.width);
  if (!arithmetic_is_ieee()) {
    throw Error(ErrorKind::mode_unavailable, "check",
                "arithmetic of this program is not IEEE 754's, so NaN could pass; expected a build "
                "without -ffast-math and a process in which no library flushes denormal numbers");
  }
  std::vector<TokenSums> all(static_cast<std::size_t>(a.rows));
  const std::size_t bytes = all.size() * (a.row_bytes() + b.row_bytes());
  const std::size_t parts = std::clamp<std::size_t>(bytes / per_thread, 1,
                                                    static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<std::jthread> workers;
  for (std::size_t part = 1; part <= parts; ++part) {
    const std::size_t first = all.size() * (part - 1) / parts;
    const std::size_t last = all.size() * part / parts;
    const auto work = [&a, &b, &tolerance, first,
                       out = std::span(all).subspan(first, last - first)] {
      sum_range(a, b, tolerance, static_cast<std::int64_t>(first), out);
    };
    if (part == parts) {
      work();
    } else {
      workers.emplace_back(work);
    }
  }
  workers.clear();  // joins
  return all;
}

void widen(const TokenRows& rows, std::int64_t row, std::int64_t first, std::span<double> out) {
  widen_bytes<double>(rows.dtype,
                      rows.row(row).data() + static_cast<std::size_t>(first) * size_of(rows.dtype),
                      out);
}

}  // namespace vtower
