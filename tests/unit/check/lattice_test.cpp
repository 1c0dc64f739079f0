#include "check/lattice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;

namespace {

constexpr PatchLayout layout{14, 2, 2};
constexpr std::int64_t rows = 16;
const std::vector<LatticeConstants> known = known_constants();

const LatticeConstants& constants_named(const std::string& name) {
  return *std::find_if(known.begin(), known.end(),
                       [&](const LatticeConstants& one) { return one.name == name; });
}

LatticeHypothesis hypothesis(PixelState state, const std::string& constants,
                             std::vector<PixelStep> steps, DType rounding = DType::f32,
                             DType between = DType::f32) {
  std::optional<LatticeConstants> set;
  if (!constants.empty()) set = constants_named(constants);
  return {state, set, std::move(steps), rounding, between};
}

float from_hex(const std::string& text) {
  return std::strtof(text.c_str(), nullptr);
}

float from_bf16_hex(const std::string& text) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(text, nullptr, 16)) << 16);
}

// Entries of a [channel][byte] table in which `found` and the reference differ.
int differing(const LatticeTable& found, const nlohmann::json& reference,
              const std::function<float(const std::string&)>& parse) {
  int count = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const float expected = parse(reference.at(c).at(byte).get<std::string>());
      if (std::bit_cast<std::uint32_t>(found[c][byte]) != std::bit_cast<std::uint32_t>(expected)) {
        ++count;
      }
    }
  }
  return count;
}

std::vector<std::uint8_t> noise() {
  std::mt19937 random(20240607);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows * layout.row_width()));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 256);
  return bytes;
}

std::size_t channel_of(std::size_t i) {
  const std::size_t width = static_cast<std::size_t>(layout.row_width());
  return i % width / (width / 3);
}

std::vector<float> through(const LatticeTable& table, const std::vector<std::uint8_t>& bytes) {
  std::vector<float> values(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) values[i] = table[channel_of(i)][bytes[i]];
  return values;
}

std::set<PixelState> states(const LatticeFit& fit) {
  std::set<PixelState> found;
  for (const LatticeMatch& match : fit.matches) found.insert(match.hypothesis.state);
  return found;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tables equal those of transformers, bit for bit") {
  const nlohmann::json tables = test::golden_json("media/normalise.json").at("tables");
  for (const auto& [family, constants] : {std::pair{"qwen2", "CLIP"}, {"qwen3", "0.5"}}) {
    const auto values = [&, name = family](const std::string& backend) {
      return tables.at(std::string(name) + backend).at("values");
    };
    CHECK(differing(
              lattice_table(hypothesis(PixelState::normalized, constants, {PixelStep::norm_fused})),
              values("-torchvision"), from_hex) == 0);
    CHECK(differing(lattice_table(
                        hypothesis(PixelState::normalized, constants, {PixelStep::norm_two_step})),
                    values("-pil"), from_hex) == 0);
  }
}

TEST_CASE("tables equal those of vLLM, bit for bit") {
  const nlohmann::json tables = test::golden_json("vllm/norm_table.json").at("tables");
  for (const auto& [name, constants] : {std::pair{"clip", "CLIP"}, {"half", "0.5"}}) {
    const auto table = [set = constants](PixelStep step, DType rounding) {
      return lattice_table(hypothesis(PixelState::normalized, set, {step}, rounding));
    };
    const nlohmann::json& reference = tables.at(name);
    CHECK(differing(table(PixelStep::norm_affine, DType::f32), reference.at("fp32"), from_hex) ==
          0);
    CHECK(differing(table(PixelStep::norm_fma, DType::f32), reference.at("fp32_fma"), from_hex) ==
          0);
    CHECK(differing(table(PixelStep::norm_affine, DType::bf16), reference.at("bf16"),
                    from_bf16_hex) == 0);
    CHECK(differing(table(PixelStep::norm_fma, DType::bf16), reference.at("bf16_fma"),
                    from_bf16_hex) == 0);
  }
}

TEST_CASE("every hypothesis finds itself, and the bytes lie between those recovered") {
  const std::vector<std::uint8_t> bytes = noise();
  for (const DType storage : {DType::f32, DType::bf16, DType::f16}) {
    // The first of each state, and every 11th to keep the test quick.
    const std::vector<LatticeHypothesis> all = lattice_hypotheses(storage, known);
    std::set<PixelState> met;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const LatticeHypothesis& truth = all[i];
      if (!met.insert(truth.state).second && i % 11 != 0) continue;
      const std::vector<float> values = through(lattice_table(truth), bytes);
      const LatticeFit fit = fit_lattice(values, layout, storage, known);
      CAPTURE(describe(truth));
      CAPTURE(describe(fit));
      REQUIRE(fit.matches.size() > 0);
      CHECK(fit.off_lattice == 0);
      CHECK(std::any_of(fit.matches.begin(), fit.matches.end(), [&](const LatticeMatch& match) {
        return match.hypothesis.steps == truth.steps && match.hypothesis.state == truth.state &&
               match.hypothesis.rounding == truth.rounding &&
               match.hypothesis.rounding_between == truth.rounding_between;
      }));
      const RecoveredBytes recovered = recover_bytes(values, layout, truth);
      std::size_t wrong = 0;
      std::uint64_t ambiguous = 0;
      for (std::size_t k = 0; k < bytes.size(); ++k) {
        const std::uint8_t low = recovered.lowest.data()[k];
        const std::uint8_t high = recovered.highest.data()[k];
        if (bytes[k] < low || bytes[k] > high) ++wrong;
        if (low != high) ++ambiguous;
      }
      CHECK(wrong == 0);
      CHECK(recovered.ambiguous_values == ambiguous);
      if (truth.rounding == DType::f32) CHECK(ambiguous == 0);
    }
    CHECK(met.size() == 8);
  }
}

TEST_CASE("a full picture in float32 names one state, constants and form") {
  const std::vector<std::uint8_t> bytes = noise();
  const auto said = [&](const LatticeHypothesis& truth) {
    return describe(fit_lattice(through(lattice_table(truth), bytes), layout, DType::f32, known));
  };
  using S = PixelState;
  using P = PixelStep;
  CHECK(said(hypothesis(S::normalized, "CLIP", {P::norm_fused})) ==
        "normalised with CLIP constants (HF fused form, float32)");
  CHECK(said(hypothesis(S::normalized, "ImageNet", {P::norm_affine})) ==
        "normalised with ImageNet constants (x*w+b form, float32)");
  CHECK(said(hypothesis(S::normalized, "0.5", {P::norm_two_step})) ==
        "normalised with 0.5 constants (HF two-step form, float32)");
  CHECK(said(hypothesis(S::raw, "", {})) == "raw bytes, 0 to 255");
  CHECK(said(hypothesis(S::normalized_twice, "CLIP", {P::norm_fused, P::norm_affine})) ==
        "normalised twice with CLIP constants (HF fused, then x*w+b form, float32)");
  CHECK(mentions(said(hypothesis(S::rescaled, "CLIP", {P::rescale_quotient})),
                 "rescaled, not normalised ("));
  CHECK(mentions(said(hypothesis(S::normalized_without_rescale, "CLIP", {P::standardize})),
                 "not rescaled, but normalised with CLIP constants ("));
  CHECK(mentions(
      said(hypothesis(S::normalized_after_two_rescales, "CLIP", {P::rescale_float, P::norm_fused})),
      "rescaled twice, then normalised with CLIP constants ("));
  CHECK(mentions(said(hypothesis(S::rescaled_twice, "CLIP", {P::rescale_float, P::rescale_float})),
                 "rescaled twice, not normalised ("));
}

TEST_CASE("bfloat16 cannot tell forms, and says which values stand for several bytes") {
  const std::vector<std::uint8_t> bytes = noise();
  const LatticeHypothesis once =
      hypothesis(PixelState::normalized, "CLIP", {PixelStep::norm_fused}, DType::bf16);
  const LatticeFit fit =
      fit_lattice(through(lattice_table(once), bytes), layout, DType::bf16, known);
  CHECK(states(fit) == std::set{PixelState::normalized});
  CHECK(fit.matches.size() == 4);
  CHECK(mentions(describe(fit), "HF fused, HF two-step, x*w+b or fused multiply-add"));

  const LatticeHypothesis twice =
      hypothesis(PixelState::normalized_twice, "CLIP",
                 {PixelStep::norm_fused, PixelStep::norm_fused}, DType::bf16);
  const LatticeFit faulty =
      fit_lattice(through(lattice_table(twice), bytes), layout, DType::bf16, known);
  CHECK(states(faulty) == std::set{PixelState::normalized_twice});
  CHECK(faulty.matches[0].ambiguous_values == faulty.values);
  CHECK(faulty.matches[0].most_bytes_of_a_value > 20);
  CHECK(mentions(describe(faulty), "stand for more than one byte"));
}

TEST_CASE("bfloat16 values widened and stored as float32 are recognised") {
  const LatticeHypothesis truth =
      hypothesis(PixelState::normalized, "0.5", {PixelStep::norm_fused}, DType::bf16);
  const LatticeFit fit =
      fit_lattice(through(lattice_table(truth), noise()), layout, DType::f32, known);
  CHECK(mentions(describe(fit), "normalised with 0.5 constants"));
  CHECK(mentions(describe(fit), "bfloat16"));
}

TEST_CASE("what the values cannot tell apart is named as a set") {
  // Black: 0 is raw and rescaled, once and twice.
  const std::vector<float> black(static_cast<std::size_t>(layout.row_width()), 0.0F);
  const LatticeFit fit = fit_lattice(black, layout, DType::f32, known);
  CHECK(states(fit) == std::set{PixelState::raw, PixelState::rescaled, PixelState::rescaled_twice});
  CHECK(fit.bytes_agree);
  CHECK(mentions(describe(fit), "one of these, which the values do not tell apart: raw bytes"));

  // Ones: byte 1 of raw, byte 255 of the others.
  std::vector<float> ones(black.size(), 1.0F);
  const LatticeFit other = fit_lattice(ones, layout, DType::f32, known);
  CHECK(states(other).count(PixelState::raw) == 1);
  CHECK(states(other).count(PixelState::rescaled) == 1);
  CHECK(states(other).count(PixelState::normalized) == 1);  // white, with the constants 0.5
  CHECK_FALSE(other.bytes_agree);

  // A minus sign on zero changes nothing.
  ones.assign(ones.size(), -0.0F);
  CHECK(describe(fit_lattice(ones, layout, DType::f32, known)) == describe(fit));
}

TEST_CASE("values off every lattice are counted and the first is placed") {
  const LatticeHypothesis truth =
      hypothesis(PixelState::normalized, "CLIP", {PixelStep::norm_fused});
  std::vector<float> values = through(lattice_table(truth), noise());
  const std::size_t width = static_cast<std::size_t>(layout.row_width());
  values[3 * width + 5] = std::nextafter(values[3 * width + 5], 10.0F);
  values[9 * width + 1] += 0.001F;
  const LatticeFit fit = fit_lattice(values, layout, DType::f32, known);
  CHECK(fit.matches.empty());
  CHECK(fit.off_lattice == 2);
  CHECK(fit.non_finite == 0);
  REQUIRE(fit.nearest);
  CHECK(describe(*fit.nearest) == "normalised with CLIP constants (HF fused form, float32)");
  REQUIRE(fit.first_off_lattice);
  CHECK(fit.first_off_lattice->row == 3);
  CHECK(fit.first_off_lattice->column == 5);
  CHECK(fit.largest_distance == doctest::Approx(0.001).epsilon(0.01));
  CHECK(mentions(describe(fit), "on no known lattice"));
  CHECK(mentions(describe(fit), "2 of 18816 values"));
  CHECK(mentions(describe(fit), "at row 3, column 5"));
  CHECK_THROWS_AS(recover_bytes(values, layout, truth), Error);
}

TEST_CASE("a table of another channel is another table") {
  std::vector<float> values = through(
      lattice_table(hypothesis(PixelState::normalized, "CLIP", {PixelStep::norm_fused})), noise());
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(layout.row_width())) {
    std::rotate(values.begin() + static_cast<std::ptrdiff_t>(i),
                values.begin() + static_cast<std::ptrdiff_t>(i) + layout.row_width() / 3,
                values.begin() + static_cast<std::ptrdiff_t>(i) + layout.row_width());
  }
  CHECK(fit_lattice(values, layout, DType::f32, known).matches.empty());
}

TEST_CASE("continuous values are off in number, in bounded memory") {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(200 * layout.row_width()));
  for (float& value : values) value = normal(random);
  const LatticeFit fit = fit_lattice(values, layout, DType::f32, known);
  CHECK(fit.matches.empty());
  CHECK(fit.off_lattice > values.size() * 9 / 10);
}

TEST_CASE("NaN and infinity never stand on a lattice") {
  const LatticeHypothesis truth = hypothesis(PixelState::raw, "", {});
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = through(lattice_table(truth), noise());
    values[1177] = bad;
    const LatticeFit fit = fit_lattice(values, layout, DType::f32, known);
    CHECK(fit.matches.empty());
    CHECK(fit.non_finite == 1);
    CHECK(fit.off_lattice == 1);
    REQUIRE(fit.first_non_finite);
    CHECK(fit.first_non_finite->row == 1);
    CHECK(fit.first_non_finite->column == 1);
    CHECK(mentions(describe(fit), "1 of 18816 values are not finite"));
    CHECK(mentions(describe(fit), "the finite values are raw bytes"));
    CHECK_THROWS_AS(recover_bytes(values, layout, truth), Error);

    values.assign(values.size(), bad);
    const LatticeFit none = fit_lattice(values, layout, DType::f32, known);
    CHECK(none.matches.empty());
    CHECK_FALSE(none.nearest);
    CHECK(none.non_finite == values.size());
    CHECK(mentions(describe(none), "18816 of 18816 values are not finite"));
  }
}

TEST_CASE("constants of the checkpoint come first and are joined with known ones of equal value") {
  LatticeConstants own = constants_named("CLIP");
  own.name = "the checkpoint's";
  std::vector<LatticeConstants> sets{own};
  sets.insert(sets.end(), known.begin(), known.end());
  const std::vector<float> values = through(
      lattice_table(hypothesis(PixelState::normalized, "CLIP", {PixelStep::norm_fused})), noise());
  CHECK(describe(fit_lattice(values, layout, DType::f32, sets)) ==
        "normalised with the checkpoint's (CLIP) constants (HF fused form, float32)");

  own = {"the checkpoint's", {0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}, 1.0 / 127.5};
  sets[0] = own;
  const std::vector<float> unusual = through(
      lattice_table({PixelState::normalized, own, {PixelStep::norm_fused}, DType::f32, DType::f32}),
      noise());
  CHECK(describe(fit_lattice(unusual, layout, DType::f32, sets)) ==
        "normalised with the checkpoint's constants (HF fused form, float32)");
  CHECK(fit_lattice(unusual, layout, DType::f32, known).matches.empty());
}

TEST_CASE("no values, broken rows and other storage types are refused") {
  const std::vector<float> values(static_cast<std::size_t>(layout.row_width()) + 1, 0.0F);
  CHECK_THROWS_AS(fit_lattice({}, layout, DType::f32, known), Error);
  CHECK_THROWS_AS(fit_lattice(values, layout, DType::f32, known), Error);
  CHECK_THROWS_AS(fit_lattice(values, PatchLayout{}, DType::f32, known), Error);
  CHECK_THROWS_AS(
      fit_lattice(std::span(values).first(values.size() - 1), layout, DType::f64, known), Error);
  CHECK_THROWS_AS(recover_bytes({}, layout, hypothesis(PixelState::raw, "", {})), Error);
}
