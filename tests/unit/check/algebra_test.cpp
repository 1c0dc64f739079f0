#include "check/algebra.h"

#include <algorithm>
#include <ctime>
#include <deque>
#include <functional>
#include <numeric>

#include "rows.h"
#include "support/doctest.h"

using namespace vtower;
using test::noise;
using test::Rows;

namespace {

constexpr std::int64_t width = 96;
using Values = std::vector<double>;

Values tokens(std::size_t count, unsigned seed) {
  return noise(count * width, seed);
}

Values changed(Values values, const std::function<double(double, std::size_t)>& change) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = change(values[i], i);
  return values;
}

// The rows of `values` in the order of `source`.
Values rows_of(const Values& values, const std::vector<std::size_t>& source) {
  Values out;
  for (const std::size_t row : source) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * width);
    out.insert(out.end(), first, first + width);
  }
  return out;
}

std::vector<std::size_t> range(std::size_t first, std::size_t last) {
  std::vector<std::size_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

class Pairs {
 public:
  explicit Pairs(DType dtype = DType::f32) : dtype_(dtype) {}
  Pairs& add(const Values& a, const Values& b) {
    rows_.emplace_back(dtype_, width, a);
    rows_.emplace_back(dtype_, width, b);
    const std::string name = std::string(1, static_cast<char>('a' + items_.size())) + ".png";
    items_.push_back({name, rows_[rows_.size() - 2].view(), rows_.back().view()});
    return *this;
  }
  [[nodiscard]] std::vector<AlgebraFinding> find(double limit = 1e-4) const {
    return find_algebra(items_, {limit, 1});
  }
  // The only finding.
  [[nodiscard]] std::string sentence(double limit = 1e-4) const {
    const std::vector<AlgebraFinding> found = find(limit);
    CHECK(found.size() == 1);
    if (found.empty()) return "";
    CHECK(found[0].residual <= limit);
    return found[0].sentence;
  }

 private:
  DType dtype_;
  std::deque<Rows> rows_;
  std::vector<AlgebraItem> items_;
};

double norm_of_row(const Values& values, std::size_t index) {
  const std::size_t first = index / width * width;
  double squares = 0;
  for (std::size_t i = first; i < first + width; ++i) squares += values[i] * values[i];
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("what agrees, or differs in no simple way, is explained by nothing") {
  const Values x = tokens(24, 1);
  CHECK(Pairs().add(x, x).find().empty());
  CHECK(Pairs().add(x, tokens(24, 2)).find().empty());
  CHECK(Pairs().add(x, tokens(24, 2)).add(tokens(9, 3), tokens(9, 4)).find().empty());
  CHECK(Pairs().add(x, tokens(20, 2)).find().empty());
  CHECK(Pairs().find().empty());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(Pairs()
            .add(x, changed(x,
                            [&](double v, std::size_t i) {
                              return i % 7 == 0 && i / width % 2 == 0 ? nan : v;
                            }))
            .find()
            .empty());
}

TEST_CASE("a mismatch just beyond the limit is no finding") {
  const Values x = tokens(64, 1);
  const Values noisy = noise(64 * width, 9);
  // half of it a scale, half of it noise: without the scale it is within the limit
  const Values y =
      changed(x, [&](double v, std::size_t i) { return v * 1.007 + 0.007 * noisy[i]; });
  CHECK(Pairs().add(x, y).find(9.5e-3).empty());
}

TEST_CASE("R98: a constant ratio and L2 normalisation are named") {
  const Values x = tokens(24, 1);
  const auto times = [&](double factor) {
    return changed(x, [&](double v, std::size_t) { return v * factor; });
  };
  CHECK(Pairs().add(x, times(1.86)).sentence() == "b is a scaled by 1.86");
  CHECK(Pairs().add(x, times(-1)).sentence() == "b is a scaled by -1");
  CHECK(Pairs(DType::bf16).add(x, times(1.86)).sentence(3e-2) == "b is a scaled by 1.86");
  const auto normalized = [&](double size) {
    return changed(x, [&](double v, std::size_t i) { return v * size / norm_of_row(x, i); });
  };
  CHECK(Pairs().add(x, normalized(1)).sentence() == "b is a with every token L2-normalised");
  CHECK(Pairs().add(normalized(1), x).sentence() == "a is b with every token L2-normalised");
  CHECK(Pairs().add(x, normalized(20.8)).sentence() ==
        "b is a with every token scaled to norm 20.8");
}

TEST_CASE("one scale for all items, or one for each, says where") {
  const Values x = tokens(24, 1);
  const Values y = tokens(9, 2);
  const auto times = [](const Values& values, double factor) {
    return changed(values, [&](double v, std::size_t) { return v * factor; });
  };
  CHECK(Pairs().add(x, times(x, 3)).add(y, times(y, 3)).sentence() == "b is a scaled by 3");
  CHECK(Pairs().add(x, x).add(y, times(y, 3)).sentence() == "b is a scaled by 3 in item b.png");
  const auto two = Pairs().add(x, times(x, 3)).add(y, times(y, 2)).find();
  REQUIRE(two.size() == 2);
  CHECK(two[0].sentence == "b is a scaled by 2 in item b.png");
  CHECK(two[1].sentence == "b is a scaled by 3 in item a.png");
}

TEST_CASE("scales and offsets by channel, and one offset") {
  const Values x = tokens(24, 1);
  const Values by_channel = noise(width, 7);
  const Values scaled =
      changed(x, [&](double v, std::size_t i) { return v * (2 + by_channel[i % width] / 10); });
  CHECK(Pairs().add(x, scaled).sentence().starts_with("b is a scaled channel by channel, by 1."));
  CHECK(Pairs().add(x, changed(x, [](double v, std::size_t) { return v + 0.25; })).sentence() ==
        "b is a plus 0.25");
  const Values shifted =
      changed(x, [&](double v, std::size_t i) { return v + by_channel[i % width]; });
  CHECK(Pairs().add(x, shifted).sentence().starts_with("b is a plus a constant for each channel"));
  // Seven tokens are too few to tell.
  CHECK(
      Pairs().add(tokens(7, 1), Values(scaled.begin(), scaled.begin() + 7 * width)).find().empty());
}

TEST_CASE("rows reversed, rolled, transposed, permuted") {
  const Values x = tokens(24, 1);
  std::vector<std::size_t> order = range(0, 24);
  const auto sentence = [&] { return Pairs().add(x, rows_of(x, order)).sentence(); };
  std::reverse(order.begin(), order.end());
  CHECK(sentence() == "rows of item a.png reversed");
  order = range(0, 24);
  std::rotate(order.begin(), order.begin() + 21, order.end());
  CHECK(sentence() == "rows of item a.png rolled by 3");
  std::rotate(order.begin(), order.begin() + 6, order.end());
  CHECK(sentence() == "rows of item a.png rolled by -3");
  for (std::size_t i = 0; i < 24; ++i) order[i] = i % 4 * 6 + i / 4;
  CHECK(sentence() == "rows of item a.png transposed (4 x 6 as 6 x 4)");
  order = range(0, 24);
  std::swap(order[3], order[11]);
  std::swap(order[4], order[20]);
  CHECK(sentence() == "rows of item a.png permuted (4 rows)");
}

TEST_CASE("rows permuted in several items are one finding with their number") {
  const Values x = tokens(24, 1);
  const Values y = tokens(10, 2);
  std::vector<std::size_t> order24 = range(0, 24);
  std::vector<std::size_t> order10 = range(0, 10);
  std::rotate(order24.begin() + 3, order24.begin() + 4, order24.begin() + 6);
  std::swap(order10[2], order10[7]);
  CHECK(Pairs().add(x, rows_of(x, order24)).add(y, rows_of(y, order10)).sentence() ==
        "rows of items a.png and b.png permuted (5 rows)");
}

TEST_CASE("rows that went to other items are told from an order of items") {
  const Values x = tokens(24, 1);
  const Values y = tokens(10, 2);
  Values b = x;
  Values c = y;
  std::swap_ranges(b.begin(), b.begin() + width, c.begin() + 3 * width);
  CHECK(Pairs().add(x, b).add(y, c).sentence() ==
        "rows of items a.png and b.png taken together: permuted (2 rows)");
}

TEST_CASE("the same order in several items is one finding, other orders are others") {
  const Values x = tokens(24, 1);
  const Values y = tokens(10, 2);
  std::vector<std::size_t> back24 = range(0, 24);
  std::vector<std::size_t> back10 = range(0, 10);
  std::reverse(back24.begin(), back24.end());
  std::reverse(back10.begin(), back10.end());
  CHECK(Pairs().add(x, rows_of(x, back24)).add(y, rows_of(y, back10)).sentence() ==
        "rows of items a.png and b.png reversed");
  CHECK(Pairs().add(x, x).add(y, rows_of(y, back10)).sentence() == "rows of item b.png reversed");
  const Values scaled = changed(x, [](double v, std::size_t) { return 2 * v; });
  const auto both = Pairs().add(x, scaled).add(y, rows_of(y, back10)).find();
  REQUIRE(both.size() == 2);
  CHECK(both[0].sentence == "rows of item b.png reversed");
  CHECK(both[1].sentence == "b is a scaled by 2 in item a.png");
}

TEST_CASE("rows shifted, cut or added") {
  const Values x = tokens(30, 1);
  const auto sentence = [&](const std::vector<std::size_t>& of_a,
                            const std::vector<std::size_t>& of_b) {
    return Pairs().add(rows_of(x, of_a), rows_of(x, of_b)).sentence();
  };
  CHECK(sentence(range(0, 24), range(3, 27)) ==
        "rows of item a.png shifted by 3: the first 3 of a are missing");
  CHECK(sentence(range(3, 27), range(0, 24)) ==
        "rows of item a.png shifted by -3: the first 3 of b are extra");
  CHECK(sentence(range(0, 24), range(2, 24)) ==
        "rows of item a.png shifted by 2: the first 2 of a are missing");
  CHECK(sentence(range(0, 24), range(0, 20)) ==
        "rows of item a.png cut: the last 4 of a are missing");
  CHECK(sentence(range(0, 20), range(0, 24)) ==
        "rows of item a.png lengthened: the last 4 of b are extra");
}

TEST_CASE("items exchanged, of the same and of different shapes") {
  const Values x = tokens(24, 1);
  const Values y = tokens(24, 2);
  const Values z = tokens(10, 3);
  CHECK(Pairs().add(x, y).add(y, x).add(z, z).sentence() == "items a.png and b.png exchanged");
  CHECK(Pairs().add(x, z).add(y, y).add(z, x).sentence() == "items a.png and c.png exchanged");
  CHECK(Pairs().add(x, y).add(y, z).add(z, x).sentence() ==
        "items a.png, b.png and c.png in another order: b has b.png, c.png and a.png there");
  // A copy instead of an exchange is none.
  CHECK(Pairs().add(x, y).add(y, y).find().empty());
}

TEST_CASE("items in another order than their boundaries") {
  const Values x = tokens(24, 1);
  const Values y = tokens(10, 2);
  Values together = y;
  together.insert(together.end(), x.begin(), x.end());
  const auto middle = together.begin() + 24 * width;
  CHECK(
      Pairs().add(x, {together.begin(), middle}).add(y, {middle, together.end()}).sentence() ==
      "rows of items a.png and b.png taken together: one after another in the order b.png, a.png");
}

TEST_CASE("rows that are zero or not finite on one side") {
  const Values x = tokens(24, 1);
  const auto spoilt = [&](std::size_t first, std::size_t last, double value) {
    return changed(x, [&](double v, std::size_t i) {
      return i / width >= first && i / width < last ? value : v;
    });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(Pairs().add(x, spoilt(20, 24, 0)).sentence() == "item a.png: rows from 20 on zero in b");
  CHECK(Pairs().add(spoilt(4, 7, nan), x).sentence() == "item a.png: rows 4 to 6 not finite in a");
  CHECK(Pairs().add(x, spoilt(5, 6, nan)).sentence() == "item a.png: row 5 not finite in b");
  CHECK(Pairs().add(x, spoilt(0, 24, 0)).sentence() == "item a.png: all rows zero in b");
}

TEST_CASE("a blank picture's equal rows do not hide an order") {
  Values x = tokens(24, 1);
  for (std::size_t row = 8; row < 20; ++row) {
    std::copy_n(x.begin() + 8 * width, width, x.begin() + static_cast<std::ptrdiff_t>(row) * width);
  }
  std::vector<std::size_t> order = range(0, 24);
  std::swap(order[0], order[23]);
  CHECK(Pairs().add(x, rows_of(x, order)).sentence() == "rows of item a.png permuted (2 rows)");
}

TEST_CASE("many rows are matched in bounded time") {
  constexpr std::size_t count = 20000;
  const Values x = tokens(count, 1);
  std::vector<std::size_t> order = range(0, count);
  std::mt19937 random(5);
  std::shuffle(order.begin(), order.end(), random);
  Pairs pairs(DType::bf16);
  pairs.add(x, rows_of(x, order));
  const std::clock_t start = std::clock();  // of the processor: others may use it too
  CHECK(pairs.sentence(3e-2).starts_with("rows of item a.png permuted"));
  CHECK(std::clock() - start < 20 * CLOCKS_PER_SEC);
}
