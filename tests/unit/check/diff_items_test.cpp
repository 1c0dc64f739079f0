#include "check/diff_items.h"

#include <deque>

#include "rows.h"
#include "support/doctest.h"

using namespace vtower;
using test::noise;
using test::Rows;

namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t width = 64;

// A dump in memory.
class Side {
 public:
  Side& add(const std::string& key, DType dtype, const std::vector<double>& values,
            std::int64_t row_width = width) {
    rows_.emplace_back(dtype, row_width, values);
    items_.push_back({key, std::nullopt, rows_.back().view(), {}, "", ""});
    return *this;
  }
  Side& deepstack(DType dtype, const std::vector<double>& values) {
    rows_.emplace_back(dtype, width, values);
    items_.back().deepstack.push_back(rows_.back().view());
    return *this;
  }
  Side& named() {
    side_.has_keys = true;
    return *this;
  }
  Side& stage(const std::string& name) {
    side_.stage = name;
    return *this;
  }
  Side& record(const std::string& text) {
    record_ = Json::parse(text);
    return *this;
  }
  std::vector<DumpItem>& items() { return items_; }

  [[nodiscard]] DiffSide view() {
    side_.items = items_;
    side_.record = &record_;
    return side_;
  }

 private:
  std::deque<Rows> rows_;
  std::vector<DumpItem> items_;
  Json record_;
  DiffSide side_;
};

std::vector<double> tokens(std::size_t count, unsigned seed) {
  return noise(count * width, seed);
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

PairReport diff(Side& a, Side& b, const Policy& policy = Policy::standard()) {
  return to_report(diff_items(a.view(), b.view(), {policy, 1}), "a.npy", "b.npy");
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool has_note(const PairReport& pair, const std::string& part) {
  for (const std::string& note : pair.notes) {
    if (mentions(note, part)) return true;
  }
  return false;
}

const std::string record_text = R"({
  "version": {"vtower": "0.1.0", "torch": "2.11.0"},
  "checkpoint": {"hash": "00"},
  "norm": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "rescale_factor": 0.00392},
  "profile": {"name": "vllm", "options": {"fps": null, "max_pixels": 1000}},
  "attestation": {"mode": "eager", "dtype": "bf16", "device": "cpu", "world_size": 1},
  "items": [{"path": "x.png", "sha256": "aaaaaaaaaaaaaaaa", "rows_sha256": "11"}]})";

std::string record_with(const std::string& pointer, const Json& value) {
  Json json = Json::parse(record_text);
  json[Json::json_pointer(pointer)] = value;
  return json.dump();
}

}  // namespace

TEST_CASE("two files of the same bytes agree in every bit") {
  Side a, b;
  a.add("#0", DType::bf16, tokens(6, 1)).add("#1", DType::bf16, tokens(4, 2));
  b.add("#0", DType::bf16, tokens(6, 1)).add("#1", DType::bf16, tokens(4, 2));

  Policy exact = Policy::standard();
  exact.exact = true;
  const PairReport pair = diff(a, b, exact);
  CHECK(pair.verdict == Verdict::agree);
  CHECK(pair.identical);
  CHECK(pair.items.size() == 2);
  CHECK(pair.a == "a.npy");
}

TEST_CASE("the limit is that of the looser element type, recorded or stored") {
  Side a, b, c;
  a.add("#0", DType::f32, tokens(6, 1));
  b.add("#0", DType::f32, scaled(tokens(6, 1), 1.01));
  c.add("#0", DType::bf16, tokens(6, 1));
  CHECK(diff(a, b).verdict == Verdict::differ);
  CHECK(diff(a, b).items[0].limit == 1e-5);
  CHECK(diff(c, a).items[0].limit == 3e-2);
  CHECK(diff(a, c).verdict == Verdict::agree);
  CHECK(has_note(diff(a, c), "stored as fp32 and bf16"));
  b.record(record_text);  // a bf16 run, widened when it was written
  CHECK(diff(a, b).items[0].limit == 3e-2);
  CHECK(diff(a, b).verdict == Verdict::agree);
}

TEST_CASE("exact and value tolerances are conditions beside the limit") {
  Side a, b;
  a.add("#0", DType::f32, tokens(6, 1));
  b.add("#0", DType::f32, scaled(tokens(6, 1), 1 + 1e-6));
  Policy policy = Policy::standard();
  CHECK(diff(a, b, policy).verdict == Verdict::agree);
  policy.exact = true;
  CHECK(diff(a, b, policy).verdict == Verdict::differ);
  policy.exact = false;
  policy.tolerance = ValueTolerance{1e-9, 1e-9};
  CHECK(diff(a, b, policy).verdict == Verdict::differ);
  policy.tolerance = ValueTolerance{10, 10};
  CHECK(diff(a, b, policy).verdict == Verdict::agree);
  Side far;
  far.add("#0", DType::f32, scaled(tokens(6, 1), 1.1));
  CHECK(diff(a, far, policy).verdict == Verdict::differ);
}

TEST_CASE("items are matched by name where both sides have names, otherwise by place") {
  Side a, b, c;
  a.named().add("x", DType::f32, tokens(6, 1)).add("y", DType::f32, tokens(6, 2));
  b.named().add("y", DType::f32, tokens(6, 2)).add("x", DType::f32, tokens(6, 1));
  c.add("#0", DType::f32, tokens(6, 1)).add("#1", DType::f32, tokens(6, 2));
  CHECK(diff(a, b).verdict == Verdict::agree);
  CHECK(has_note(diff(a, b), "another order"));
  CHECK(diff(a, c).verdict == Verdict::agree);
  CHECK(diff(a, c).items[1].item == "y");
  CHECK(diff(c, a).items[1].item == "y");
  CHECK(has_note(diff(a, c), "by their place: b has no names"));
  CHECK(diff(b, c).verdict == Verdict::differ);
}

TEST_CASE("two items of one name are matched in their order") {
  Side a, b;
  a.named().add("x", DType::f32, tokens(6, 1)).add("x", DType::f32, tokens(6, 2));
  b.named().add("x", DType::f32, tokens(6, 1)).add("x", DType::f32, tokens(6, 2));
  CHECK(diff(a, b).verdict == Verdict::agree);
  CHECK(diff(a, b).items.size() == 2);
}

TEST_CASE("R105: a missing or extra item is never agreement, and the others are compared") {
  Side a, b;
  a.named().add("x", DType::f32, tokens(6, 1)).add("y", DType::f32, tokens(6, 2));
  b.named().add("x", DType::f32, tokens(6, 1));
  const PairReport missing = diff(a, b);
  CHECK(missing.verdict == Verdict::not_comparable);
  CHECK(missing.items.size() == 1);
  CHECK(missing.reason == "y: only in a");
  CHECK_FALSE(missing.identical);
  CHECK(diff(b, a).reason == "y: only in b");
  Side unnamed;
  unnamed.add("#0", DType::f32, tokens(6, 1));
  CHECK(diff(a, unnamed).verdict == Verdict::not_comparable);
  Side wrong;
  wrong.named().add("x", DType::f32, tokens(6, 3));
  CHECK(diff(a, wrong).verdict == Verdict::differ);
  CHECK(diff(a, wrong).skipped.size() == 1);
  Side other;
  other.named().add("z", DType::f32, tokens(6, 1));
  CHECK(diff(b, other).verdict == Verdict::not_comparable);
  CHECK(mentions(diff(b, other).reason, "x and z"));
}

TEST_CASE("R105: nothing compared is vacuous") {
  Side none, a;
  a.add("#0", DType::f32, tokens(6, 1));
  CHECK(diff(none, none).verdict == Verdict::vacuous);
  CHECK(diff(a, none).reason == "b has no items");
  Side empty, zero;
  empty.add("#0", DType::f32, {});
  CHECK(diff(empty, empty).verdict == Verdict::vacuous);
  zero.add("#0", DType::f32, std::vector<double>(6 * width, 0.0));
  CHECK(diff(zero, zero).verdict == Verdict::vacuous);
  CHECK(mentions(diff(zero, zero).reason, "all zero on both sides"));
  CHECK(diff(a, zero).verdict == Verdict::differ);
  CHECK(diff(zero, a).verdict == Verdict::differ);
  Side partly;
  partly.add("#0", DType::f32, tokens(6, 1)).add("#1", DType::f32, std::vector<double>(width, 0.0));
  CHECK(diff(partly, partly).verdict == Verdict::vacuous);
}

TEST_CASE("R101: pooled against per-token is another pooling, not a difference") {
  Side a, pooled, two;
  a.add("#0", DType::f32, tokens(24, 1));
  pooled.add("#0", DType::f32, tokens(1, 1));
  two.add("#0", DType::f32, tokens(2, 1));
  CHECK(diff(a, pooled).verdict == Verdict::not_comparable);
  CHECK(mentions(diff(a, pooled).reason, "different pooling: 24 tokens in a, 1 in b"));
  CHECK(mentions(diff(pooled, a).reason, "different pooling"));
  CHECK(mentions(diff(a, two).reason, "different token counts"));
}

TEST_CASE("other widths, grids and deepstack levels are not comparable") {
  Side a, wide, grid;
  a.add("#0", DType::f32, tokens(6, 1));
  wide.add("#0", DType::f32, tokens(12, 1), 2 * width);
  CHECK(mentions(diff(a, wide).reason, "different widths: 64 and 128; does the wider one hold"));
  a.items()[0].grid = GridThw{1, 4, 6};
  grid.add("#0", DType::f32, tokens(6, 1)).items()[0].grid = GridThw{1, 6, 4};
  CHECK(mentions(diff(a, grid).reason, "different grids: 1x4x6 and 1x6x4"));
  Side deep;
  deep.add("#0", DType::f32, tokens(6, 1)).deepstack(DType::f32, tokens(6, 2));
  const PairReport pair = diff(a, deep);
  CHECK(pair.verdict == Verdict::not_comparable);
  CHECK(pair.items.size() == 1);
  CHECK(mentions(pair.reason, "different deepstack levels: 0 and 1"));
}

TEST_CASE("a deepstack level decides as the embeddings do") {
  Side a, b;
  a.add("#0", DType::f32, tokens(6, 1)).deepstack(DType::f32, tokens(6, 2));
  b.add("#0", DType::f32, tokens(6, 1)).deepstack(DType::f32, tokens(6, 3));
  const PairReport pair = diff(a, b);
  CHECK(pair.verdict == Verdict::differ);
  REQUIRE(pair.items.size() == 2);
  CHECK(pair.items[0].passes());
  CHECK(pair.items[1].tensor == "deepstack.0");
  CHECK_FALSE(pair.items[1].passes());
}

TEST_CASE("R99: stages are never crossed") {
  Side a, b;
  a.add("#0", DType::f32, tokens(6, 1)).stage("block.3");
  b.add("#0", DType::f32, tokens(6, 1));
  CHECK(diff(a, b).verdict == Verdict::not_comparable);
  CHECK(mentions(diff(a, b).reason, "different stages: block.3 and embeddings"));
  b.stage("block.3");
  CHECK(diff(a, b).verdict == Verdict::agree);
}

TEST_CASE("records that contradict each other are not comparable") {
  Side a;
  a.add("#0", DType::f32, tokens(6, 1)).record(record_text);
  for (const auto& [pointer, value, reason] :
       {std::tuple{"/checkpoint/hash", Json("01"), "different checkpoints: 00 and 01"},
        {"/norm/mean/1", Json(0.25), "different norm means"},
        {"/norm/std/1", Json(0.25), "different norm standard deviations"},
        {"/norm/rescale_factor", Json(1), "different rescale factors"},
        {"/profile/name", Json("hf"), "different profiles: vllm and hf"}}) {
    Side b;
    b.add("#0", DType::f32, tokens(6, 1)).record(record_with(pointer, value));
    CHECK(diff(a, b).verdict == Verdict::not_comparable);
    CHECK(mentions(diff(a, b).reason, reason));
  }
  Side foreign;
  foreign.add("#0", DType::f32, tokens(6, 1));
  CHECK(diff(a, foreign).verdict == Verdict::agree);
}

TEST_CASE("differences of choice are notes") {
  Side a;
  a.add("#0", DType::f32, tokens(6, 1)).record(record_text);
  for (const auto& [pointer, value, note] :
       {std::tuple{"/profile/options/fps", Json(2), "profile option fps: not set and 2"},
        {"/version/torch", Json("2.10.0"), "version of torch: 2.11.0 and 2.10.0"},
        {"/version/libwebp", Json("1.3"), "version of libwebp: not set and 1.3"},
        {"/attestation/mode", Json("graph"), "mode: eager and graph"},
        {"/attestation/dtype", Json("fp32"), "dtype: bf16 and fp32"},
        {"/items/0/sha256", Json("bbbbbbbbbbbbbbbb"),
         "inputs differ: x.png (sha256 aaaaaaaaaaaa) and x.png (sha256 bbbbbbbbbbbb), the same "
         "pixels"},
        {"/items/0/rows_sha256", Json("22"), "the same file, other pixels"}}) {
    Side b;
    b.add("#0", DType::f32, tokens(6, 1)).record(record_with(pointer, value));
    CAPTURE(pointer);
    CHECK(diff(a, b).verdict == Verdict::agree);
    CHECK(has_note(diff(a, b), note));
  }
  CHECK(diff(a, a).notes.empty());
}

TEST_CASE("R97: broken alike on both sides still differs") {
  Side a, b;
  std::vector<double> values = tokens(6, 1);
  values[3] = std::numeric_limits<double>::quiet_NaN();
  a.add("#0", DType::bf16, values);
  b.add("#0", DType::bf16, values);
  const PairReport pair = diff(a, b);
  CHECK(pair.identical);
  CHECK(pair.verdict == Verdict::differ);
}

TEST_CASE("the smallest k that passes is that of the worst item, infinite for NaN") {
  ItemReport good, bad, without;
  good.comparison.worst_error = 0.02;
  good.floor = 0.01;
  bad.comparison.worst_error = 0.05;
  bad.floor = 0.01;
  CHECK(smallest_k_of({good, bad}) == doctest::Approx(5));
  CHECK_FALSE(smallest_k_of({without}));
  bad.comparison.worst_error = std::numeric_limits<double>::quiet_NaN();
  CHECK(smallest_k_of({bad, good}) == std::numeric_limits<double>::infinity());
}
