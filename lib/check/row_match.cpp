#include "check/row_match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "check/item_comparison.h"
#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

constexpr std::size_t directions = 8;
constexpr std::ptrdiff_t widest_window = 2048;  // rows on either side that are looked at
constexpr std::size_t most_candidates = 4;      // rows that are compared value by value
constexpr std::size_t sample_size = 48;

using Projection = std::array<double, directions>;

// Signs of a pseudo-random direction; the same in every run.
std::uint64_t mixed(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

std::vector<Projection> signs(std::size_t width) {
  std::vector<Projection> all(width);
  const double size = 1 / std::sqrt(static_cast<double>(width));
  for (std::size_t column = 0; column < width; ++column) {
    const std::uint64_t bits = mixed(column);
    for (std::size_t k = 0; k < directions; ++k) all[column][k] = (bits >> k & 1U) ? size : -size;
  }
  return all;
}

// The rows of one side with their projections and norms.
class Side {
 public:
  explicit Side(std::span<const TokenRows> parts) {
    for (const TokenRows& part : parts) {
      for (std::int64_t row = 0; row < part.rows; ++row) rows_.push_back({&part, row});
    }
    width_ = parts.empty() ? 0 : static_cast<std::size_t>(parts.front().width);
    const std::vector<Projection> onto = signs(width_);
    std::vector<double> values(width_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      read(i, values);
      Projection projection{};
      double squares = 0;
      for (std::size_t column = 0; column < width_; ++column) {
        const double value = values[column];
        squares += value * value;
        for (std::size_t k = 0; k < directions; ++k) projection[k] += value * onto[column][k];
      }
      projections_.push_back(projection);
      norms_.push_back(std::sqrt(squares));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] const Projection& projection(std::size_t row) const { return projections_[row]; }
  [[nodiscard]] double norm(std::size_t row) const { return norms_[row]; }
  [[nodiscard]] bool is_finite(std::size_t row) const { return std::isfinite(norms_[row]); }
  void read(std::size_t row, std::span<double> out) const {
    widen(*rows_[row].part, rows_[row].row, 0, out);
  }
  [[nodiscard]] double median_norm() const {
    std::vector<double> finite;
    std::copy_if(norms_.begin(), norms_.end(), std::back_inserter(finite),
                 [](double norm) { return std::isfinite(norm); });
    if (finite.empty()) return 0;
    const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
    std::nth_element(finite.begin(), middle, finite.end());
    return *middle;
  }

 private:
  struct Row {
    const TokenRows* part;
    std::int64_t row;
  };
  std::vector<Row> rows_;
  std::size_t width_ = 0;
  std::vector<Projection> projections_;
  std::vector<double> norms_;
};

struct Candidate {
  std::size_t row = 0;
  double error = 0;
};

class Matcher {
 public:
  Matcher(const Side& a, const Side& b, double limit)
      : a_(a),
        b_(b),
        limit_(limit),
        smallest_scale_(std::min(a.median_norm(), b.median_norm()) / 2),
        values_a_(a.width()),
        values_b_(b.width()) {
    for (std::size_t row = 0; row < a.size(); ++row) {
      if (a.is_finite(row)) sorted_.push_back(row);
    }
    std::sort(sorted_.begin(), sorted_.end(), [&](std::size_t x, std::size_t y) {
      return a.projection(x)[0] < a.projection(y)[0];
    });
  }

  // Rows of a within the limit of a row of b, the nearest first; of equals the one in its place.
  std::vector<Candidate> candidates(std::size_t row) {
    if (!b_.is_finite(row)) return {};
    std::vector<std::size_t> rows = nearest(row);
    if (row < a_.size() && std::find(rows.begin(), rows.end(), row) == rows.end()) {
      rows.push_back(row);
    }
    b_.read(row, values_b_);
    std::vector<Candidate> found;
    for (const std::size_t other : rows) {
      const double error = error_of(other, row);
      if (error <= limit_) found.push_back({other, error});
    }
    std::sort(found.begin(), found.end(), [row](const Candidate& x, const Candidate& y) {
      if (x.error != y.error) return x.error < y.error;
      return (x.row == row) > (y.row == row);
    });
    return found;
  }

 private:
  // By the distance of their projections. A distance d projects on a direction of random signs as
  // about d / sqrt(width), and never as more than d.
  std::vector<std::size_t> nearest(std::size_t row) {
    const Projection& at = b_.projection(row);
    const double share = std::min(1.0, 8 / std::sqrt(static_cast<double>(a_.width())));
    const double reach = share * limit_ * std::max(b_.norm(row), smallest_scale_);
    const auto start = std::lower_bound(
        sorted_.begin(), sorted_.end(), at[0],
        [&](std::size_t other, double value) { return a_.projection(other)[0] < value; });
    near_.clear();
    const auto take = [&](std::size_t other) {
      double squares = 0;
      for (std::size_t k = 0; k < directions; ++k) {
        const double difference = a_.projection(other)[k] - at[k];
        squares += difference * difference;
      }
      if (squares <= reach * reach * directions) near_.push_back({other, squares});
      return std::abs(a_.projection(other)[0] - at[0]) <= reach;
    };
    std::ptrdiff_t steps = widest_window;
    for (auto up = start; up != sorted_.end() && steps-- > 0 && take(*up);) ++up;
    steps = widest_window;
    for (auto down = start; down != sorted_.begin() && steps-- > 0 && take(*(down - 1));) --down;
    const std::size_t kept = std::min(near_.size(), most_candidates);
    std::partial_sort(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(kept), near_.end(),
                      [](const Candidate& x, const Candidate& y) { return x.error < y.error; });
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < kept; ++i) rows.push_back(near_[i].row);
    return rows;
  }

  // Of a row of a against the row of b that values_b_ holds.
  double error_of(std::size_t row_a, std::size_t row_b) {
    a_.read(row_a, values_a_);
    double squares = 0;
    for (std::size_t i = 0; i < values_a_.size(); ++i) {
      const double difference = values_a_[i] - values_b_[i];
      squares += difference * difference;
    }
    return token_error(std::sqrt(squares),
                       std::max(std::min(a_.norm(row_a), b_.norm(row_b)), smallest_scale_));
  }

  const Side& a_;
  const Side& b_;
  double limit_;
  double smallest_scale_;
  std::vector<std::size_t> sorted_;  // rows of a by their first projection
  std::vector<Candidate> near_;
  std::vector<double> values_a_;
  std::vector<double> values_b_;
};

}  // namespace

std::optional<RowMatch> match_rows(std::span<const TokenRows> a, std::span<const TokenRows> b,
                                   double limit) {
  const Side side_a(a);
  const Side side_b(b);
  if (side_a.size() == 0 || side_b.size() == 0 || side_a.width() != side_b.width()) return {};
  Matcher matcher(side_a, side_b, limit);
  const std::size_t step = std::max<std::size_t>(side_b.size() / sample_size, 1);
  std::size_t sampled = 0;
  std::size_t met = 0;
  for (std::size_t row = 0; row < side_b.size(); row += step, ++sampled) {
    if (!matcher.candidates(row).empty()) ++met;
  }
  if (met * 3 < sampled) return {};

  RowMatch match;
  std::vector<bool> taken(side_a.size());
  for (std::size_t row = 0; row < side_b.size(); ++row) {
    std::optional<std::int64_t> source;
    for (const Candidate& candidate : matcher.candidates(row)) {
      if (taken[candidate.row]) continue;
      taken[candidate.row] = true;
      source = static_cast<std::int64_t>(candidate.row);
      match.residual = std::max(match.residual, candidate.error);
      break;
    }
    match.source.push_back(source);
  }
  return match;
}

namespace {

using Sources = std::vector<std::optional<std::int64_t>>;

template <typename Rule>
bool follows(const Sources& source, Rule rule) {
  for (std::size_t row = 0; row < source.size(); ++row) {
    if (source[row] != rule(static_cast<std::int64_t>(row))) return false;
  }
  return true;
}

// b's row i is a's row i + k wherever a has that row, which it has for half of the rows or more.
std::optional<std::int64_t> constant_shift(const Sources& source, std::int64_t rows_of_a) {
  std::optional<std::int64_t> shift;
  std::int64_t met = 0;
  for (std::size_t row = 0; row < source.size(); ++row) {
    if (!source[row]) continue;
    const std::int64_t offset = *source[row] - static_cast<std::int64_t>(row);
    if (shift.value_or(offset) != offset) return std::nullopt;
    shift = offset;
    ++met;
  }
  if (!shift) return std::nullopt;
  const auto rows_of_b = static_cast<std::int64_t>(source.size());
  const std::int64_t first = std::max<std::int64_t>(0, -*shift);
  const std::int64_t last = std::min(rows_of_b, rows_of_a - *shift);
  const bool whole = met == last - first && met >= 2;
  return whole && 2 * met >= std::max(rows_of_a, rows_of_b) ? shift : std::nullopt;
}

std::string shift_words(std::int64_t shift, std::int64_t rows_of_a, std::int64_t rows_of_b) {
  const auto count = [](std::int64_t rows) { return std::to_string(rows); };
  if (shift > 0) {
    return "shifted by " + count(shift) + ": the first " + count(shift) + " of a are missing";
  }
  if (shift < 0) {
    return "shifted by " + count(shift) + ": the first " + count(-shift) + " of b are extra";
  }
  if (rows_of_a > rows_of_b) {
    return "cut: the last " + count(rows_of_a - rows_of_b) + " of a are missing";
  }
  return "lengthened: the last " + count(rows_of_b - rows_of_a) + " of b are extra";
}

}  // namespace

std::optional<RowOrder> describe_order(const RowMatch& match, std::int64_t rows_of_a) {
  const Sources& source = match.source;
  const auto n = static_cast<std::int64_t>(source.size());
  const bool complete =
      n == rows_of_a &&
      std::all_of(source.begin(), source.end(), [](const auto& row) { return row.has_value(); });
  if (!complete) {
    const std::optional<std::int64_t> shift = constant_shift(source, rows_of_a);
    if (!shift || (*shift == 0 && n == rows_of_a)) return std::nullopt;
    return RowOrder{shift_words(*shift, rows_of_a, n), 0};
  }
  if (n < 2 || follows(source, [](std::int64_t row) { return row; })) return std::nullopt;
  if (follows(source, [n](std::int64_t row) { return n - 1 - row; }))
    return RowOrder{"reversed", 0};
  const std::int64_t first = *source[0];
  if (follows(source, [=](std::int64_t row) { return (row + first) % n; })) {
    return RowOrder{"rolled by " + std::to_string(first <= n / 2 ? -first : n - first), 0};
  }
  for (std::int64_t height = 2; height * 2 <= n; ++height) {
    if (n % height != 0) continue;
    const std::int64_t width = n / height;
    if (follows(source, [=](std::int64_t row) { return row % height * width + row / height; })) {
      const std::string h = std::to_string(height);
      const std::string w = std::to_string(width);
      return RowOrder{"transposed (" + h + " x " + w + " as " + w + " x " + h + ")", 0};
    }
  }
  std::int64_t moved = 0;
  for (std::int64_t row = 0; row < n; ++row) moved += source[static_cast<std::size_t>(row)] != row;
  return RowOrder{"permuted", moved};
}

}  // namespace vtower
