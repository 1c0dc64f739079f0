#include "media/sampling.h"

#include <map>
#include <string>

#include "core/digest.h"
#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;
using nlohmann::json;

namespace {

SamplingRule rule_of(const std::string& name) {
  for (const SamplingRule rule :
       {SamplingRule::hf_qwen2, SamplingRule::hf_qwen3, SamplingRule::vllm_qwen2,
        SamplingRule::vllm_qwen3, SamplingRule::vllm_generic}) {
    if (to_string(rule) == name) return rule;
  }
  throw std::runtime_error("no rule " + name);
}

template <typename T>
std::optional<T> field(const json& object, const char* key) {
  if (!object.contains(key) || object.at(key).is_null()) return std::nullopt;
  return object.at(key).get<T>();
}

std::string digest(const std::vector<std::int64_t>& indices) {
  return sha256_hex({reinterpret_cast<const std::uint8_t*>(indices.data()), indices.size() * 8});
}

std::vector<std::int64_t> run(const json& sample) {
  const json& args = sample.at("args");
  const SamplingRequest request{field<double>(args, "fps"), field<std::int64_t>(args, "num_frames"),
                                field<std::int64_t>(args, "min_frames"),
                                field<std::int64_t>(args, "max_frames")};
  return sample_indices(rule_of(sample.at("rule")), sample.at("total_frames"),
                        field<double>(sample, "source_fps"), request, 2);
}

}  // namespace

TEST_CASE("every sampling rule yields the reference's indices, and fails where it fails") {
  const json cases = test::golden_json("media/sampling.json").at("cases");
  std::map<std::string, int> seen;
  for (const json& sample : cases) {
    CAPTURE(sample.dump());
    ++seen[sample.at("rule")];
    if (sample.contains("error")) {
      CHECK_THROWS_AS(run(sample), Error);
      continue;
    }
    const std::vector<std::int64_t> indices = run(sample);
    CHECK(indices.size() == sample.at("count").get<std::size_t>());
    CHECK(digest(indices) == sample.at("sha256_i64").get<std::string>());
    const bool inside = indices.front() >= 0 && indices.back() < sample.at("total_frames");
    CHECK(inside != sample.value("out_of_range", false));
  }
  CHECK(cases.size() == 400);
  CHECK(seen.size() == 5);
}

TEST_CASE("the kind of a refusal tells a contradiction from an impossible request") {
  const auto kind_of = [](SamplingRule rule, std::int64_t total, std::optional<double> rate,
                          const SamplingRequest& request) {
    try {
      sample_indices(rule, total, rate, request, 2);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::peer;
  };
  CHECK(kind_of(SamplingRule::hf_qwen3, 90, 30.0, {.fps = 2, .num_frames = 8}) == ErrorKind::usage);
  CHECK(kind_of(SamplingRule::hf_qwen2, 90, 30.0, {}) == ErrorKind::usage);
  CHECK(kind_of(SamplingRule::hf_qwen2, 90, std::nullopt, {.fps = 2}) == ErrorKind::out_of_range);
  CHECK(kind_of(SamplingRule::hf_qwen2, 10, 30.0, {.num_frames = 11}) == ErrorKind::out_of_range);
  CHECK(kind_of(SamplingRule::vllm_qwen2, 1, 30.0, {}) == ErrorKind::out_of_range);
  CHECK(kind_of(SamplingRule::hf_qwen3, 90, 0.0, {}) == ErrorKind::out_of_range);
}

// torch.arange(0, N, N/n) of torch 2.11 on a CPU, truncated: above some 50 000 frames a rounding of
// each product alone gives other indices.
TEST_CASE("hf-qwen2 follows torch.arange where its vectors round twice") {
  const auto at = [](std::int64_t total, std::int64_t count, std::size_t i) {
    return sample_indices(SamplingRule::hf_qwen2, total, 30.0, {.num_frames = count}, 1).at(i);
  };
  CHECK(at(62372, 1313, 1021) == 48500);
  CHECK(at(108044, 1655, 921) == 60126);
  CHECK(at(138121, 1558, 1031) == 91401);
  CHECK(at(194396, 1517, 724) == 92776);
  CHECK(at(188128, 1642, 1497) == 171515);
  CHECK(at(129427, 1717, 1214) == 91511);
  CHECK(at(57230, 1706, 745) == 24992);
}

TEST_CASE("every request for k of N frames stays in order and, clamped, in range") {
  for (std::int64_t total = 1; total <= 300; ++total) {
    for (std::int64_t count = 1; count <= total; ++count) {
      for (const auto& indices : {spread_both_ends(total, count), spread_by_step(total, count)}) {
        bool ordered = indices.front() == 0 && indices.back() < total;
        for (std::size_t i = 1; i < indices.size(); ++i) ordered &= indices[i - 1] < indices[i];
        if (!ordered) FAIL_CHECK("disordered: " << count << " of " << total);
      }
    }
  }
}

TEST_CASE("known picks") {
  using Indices = std::vector<std::int64_t>;
  CHECK(sample_indices(SamplingRule::hf_qwen3, 15, 30.0, {.num_frames = 13}, 2) ==
        Indices{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14});
  CHECK(sample_indices(SamplingRule::hf_qwen3, 10, 5.0, {.num_frames = 4}, 2) ==
        Indices{0, 3, 6, 9});
  CHECK(sample_indices(SamplingRule::hf_qwen2, 10, 5.0, {.num_frames = 4}, 2) ==
        Indices{0, 2, 5, 7});
}
