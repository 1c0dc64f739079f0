#include "check/place.h"

#include <cmath>
#include <deque>
#include <functional>

#include "support/doctest.h"

using namespace vtower;

namespace {

constexpr PatchLayout patches{14, 2, 2};
constexpr float good = 0.5F;
constexpr float bad = 2.0F;

// Items of grids whose tokens are bad where a rule says so.
class Batch {
 public:
  using Rule = std::function<bool(std::int64_t t, std::int64_t y, std::int64_t x)>;

  Batch& add(const std::string& name, const GridThw& grid, const Rule& rule) {
    std::vector<float> errors;
    for (std::int64_t t = 0; t < grid.t; ++t) {
      for (std::int64_t y = 0; y < grid.h / 2; ++y) {
        for (std::int64_t x = 0; x < grid.w / 2; ++x) errors.push_back(rule(t, y, x) ? bad : good);
      }
    }
    errors_.push_back(std::move(errors));
    items_.push_back({name, grid, errors_.back(), 1.0, std::nullopt});
    return *this;
  }
  Batch& rank(std::int64_t rank) {
    items_.back().rank = rank;
    return *this;
  }
  std::vector<float>& errors(std::size_t item) { return errors_[item]; }
  [[nodiscard]] std::string words(std::optional<std::int64_t> window = std::nullopt) const {
    return bad_tokens_in_words(items_, {patches, window});
  }

 private:
  std::deque<std::vector<float>> errors_;
  std::vector<PlaceItem> items_;
};

const Batch::Rule all = [](auto, auto, auto) { return true; };
const Batch::Rule none = [](auto, auto, auto) { return false; };
constexpr GridThw picture{1, 32, 40};  // 16 x 20 tokens

Batch::Rule rim_of(std::int64_t height, std::int64_t width) {
  return
      [=](auto, auto y, auto x) { return y == 0 || x == 0 || y == height - 1 || x == width - 1; };
}

}  // namespace

TEST_CASE("no token beyond the limit has no place") {
  CHECK(Batch().add("a", picture, none).words().empty());
  CHECK(Batch().words().empty());
}

TEST_CASE("all tokens, of everything or of one item") {
  CHECK(Batch().add("a", picture, all).words() == "all tokens");
  CHECK(Batch().add("a", picture, none).add("b", picture, all).words() == "all tokens of item b");
  CHECK(Batch().add("a", picture, all).add("b", picture, all).words() == "all tokens");
}

TEST_CASE("NaN is beyond any limit") {
  Batch batch;
  batch.add("a", picture, none);
  for (float& error : batch.errors(0)) error = std::nanf("");
  CHECK(batch.words() == "all tokens");
}

TEST_CASE("a class needs 95 % of both") {
  // 320 tokens: 304 are 95 %
  Batch batch;
  batch.add("a", picture, all);
  for (std::size_t i = 0; i < 16; ++i) batch.errors(0)[i * 20] = good;
  CHECK(batch.words() == "all tokens");
  batch.errors(0)[101] = good;
  CHECK(batch.words() == "303 of 320 tokens, scattered");

  Batch rim;  // of 68 tokens
  rim.add("a", picture, rim_of(16, 20));
  CHECK(rim.words() == "the rim of the picture");
  for (const std::size_t i : {25U, 47U, 69U}) rim.errors(0)[i] = bad;
  CHECK(rim.words() == "the rim of the picture");
  rim.errors(0)[91] = bad;
  CHECK(rim.words() == "72 of 320 tokens, scattered");
}

TEST_CASE("the last tokens of the batch, or of one item") {
  const auto late = [](auto, auto y, auto) { return y >= 13; };
  Batch batch;
  batch.add("a", picture, none).add("b", {1, 4, 4}, all).add("c", {1, 4, 6}, all);
  CHECK(batch.words() == "the last 10 tokens of the batch");
  CHECK(Batch().add("a", picture, none).add("b", picture, late).words() ==
        "item b: the last 60 tokens");
  CHECK(Batch().add("a", picture, late).words() == "the last 60 tokens of the batch");
}

TEST_CASE("the items of one rank") {
  Batch batch;
  batch.add("a", picture, all).rank(1).add("b", picture, none).rank(0);
  batch.add("c", picture, all).rank(1).add("d", picture, none).rank(2);
  CHECK(batch.words() == "all items of rank 1");
}

TEST_CASE("first and last frames of a clip") {
  constexpr GridThw clip{5, 8, 8};
  CHECK(Batch().add("a", clip, [](auto t, auto, auto) { return t == 0; }).words() ==
        "the first frame group");
  CHECK(Batch()
            .add("a", clip, [](auto t, auto, auto) { return t == 4; })
            .add("b", clip, [](auto t, auto, auto) { return t == 4; })
            .words() == "the last frame group");
}

TEST_CASE("window borders, for the side that is given") {
  const auto borders = [](auto, auto y, auto x) {
    const auto border = [](auto at, auto count) {
      return (at % 4 == 0 && at > 0) || (at % 4 == 3 && at < count - 1);
    };
    return border(y, 16) || border(x, 20);
  };
  Batch batch;
  batch.add("a", picture, borders);
  CHECK(batch.words(4) == "window borders (windows of 4 x 4 tokens)");
  CHECK(batch.words(5) != batch.words(4));
  CHECK(batch.words().ends_with("scattered"));
}

TEST_CASE("every nth token") {
  Batch batch;
  batch.add("a", picture, none).add("b", {1, 10, 14}, none);
  for (const std::size_t item : {0U, 1U}) {
    for (std::size_t i = 1; i < batch.errors(item).size(); i += 4) batch.errors(item)[i] = bad;
  }
  CHECK(batch.words() == "every 4th token, from 1 on");
}

TEST_CASE("the rim of one item of several") {
  CHECK(Batch().add("a", picture, none).add("b", picture, rim_of(16, 20)).words() ==
        "item b: the rim of the picture");
}

TEST_CASE("one token alone is scattered, whatever class of one it could be") {
  Batch batch;
  batch.add("a", picture, none);
  batch.errors(0).back() = bad;
  CHECK(batch.words() == "1 of 320 tokens, scattered");
}

TEST_CASE("a token's box and frames") {
  Worst worst;
  worst.token = 2 * 320 + 3 * 20 + 7;
  locate({4, 32, 40}, patches, worst);
  CHECK(worst.box_px == std::vector<std::int64_t>{7 * 28, 3 * 28, 8 * 28, 4 * 28});
  CHECK(worst.frames == std::vector<std::int64_t>{4, 5});
  Worst still;
  locate(picture, patches, still);
  CHECK(still.box_px == std::vector<std::int64_t>{0, 0, 28, 28});
  CHECK_FALSE(still.frames);
  Worst outside;
  outside.token = 320;
  locate(picture, patches, outside);
  CHECK_FALSE(outside.box_px);
}

TEST_CASE("the worst token is that of the largest share of its limit, NaN first") {
  const auto item = [](const std::string& name, double error, double limit) {
    ItemReport report;
    report.item = name;
    report.grid = GridThw{1, 4, 4};
    report.limit = limit;
    report.comparison.worst_error = error;
    report.comparison.worst_token = 3;
    report.comparison.errors = {0, 0, 0, static_cast<float>(error)};
    return report;
  };
  PairReport first, second;
  first.a = "graph";
  first.b = "oracle";
  first.items = {item("x", 0.5, 1), item("y", 0.2, 0.1)};
  second.a = "dp";
  second.b = "oracle";
  second.items = {item("x", 0.9, 1)};
  std::vector<PairReport> pairs{first, second};
  const auto worst = worst_of(pairs, {patches, std::nullopt}, {});
  REQUIRE(worst);
  CHECK(worst->pair == "graph against oracle");
  CHECK(worst->item == "y");
  CHECK(worst->token == 3);
  CHECK(worst->value == 0.2);
  CHECK(worst->box_px == std::vector<std::int64_t>{28, 28, 56, 56});
  CHECK(worst->pattern == "item y: 1 of 4 tokens, scattered");
  pairs[1].items[0] = item("x", std::nan(""), 1);
  CHECK(worst_of(pairs, {}, {})->pair == "dp against oracle");
  CHECK_FALSE(worst_of(pairs, {}, {})->box_px);
  CHECK_FALSE(worst_of({}, {}, {}));
}
