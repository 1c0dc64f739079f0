#include "check/policy.h"

#include <fstream>
#include <sstream>

#include "check/item_comparison.h"
#include "core/error.h"
#include "rows.h"
#include "support/doctest.h"
#include "support/temp_dir.h"

using namespace vtower;
using test::Rows;

namespace {

Policy parse(const std::string& text) {
  return Policy::parse(text, "team.json");
}

// The message of the usage error; empty where there was none.
std::string refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.message();
  }
  return "";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the default policy is configs/default.json") {
  std::ifstream file(std::string(VTOWER_CONFIGS_DIR) + "/default.json");
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str() == default_policy_text);
  const Policy& standard = Policy::standard();
  CHECK(standard.k == 3);
  CHECK(standard.limit(DType::f32, DType::f32) == 1e-5);
  CHECK(standard.limit(DType::f16, DType::f16) == 5e-3);
  CHECK(standard.limit(DType::bf16, DType::bf16) == 3e-2);
  CHECK_FALSE(standard.exact);
  CHECK_FALSE(standard.tolerance);
}

TEST_CASE("of two element types the looser counts, whatever their order") {
  const Policy& standard = Policy::standard();
  CHECK(standard.limit(DType::f32, DType::bf16) == 3e-2);
  CHECK(standard.limit(DType::bf16, DType::f16) == 3e-2);
  CHECK(standard.limit(DType::f16, DType::f32) == 5e-3);
  CHECK(standard.limit(DType::f64, DType::f64) == 1e-5);
}

TEST_CASE("a policy gives what differs from the default") {
  const Policy policy = parse(R"({"k": 2, "limits": {"bf16": 0.01}, "rtol": 0.5, "exact": true})");
  CHECK(policy.k == 2);
  CHECK(policy.limits.at("bf16") == 0.01);
  CHECK(policy.limits.at("fp32") == 1e-5);
  CHECK(policy.exact);
  REQUIRE(policy.tolerance);
  CHECK(policy.tolerance->atol == 0);
  CHECK(policy.tolerance->rtol == 0.5);
  CHECK(parse("{}").to_json() == Policy::standard().to_json());
  CHECK(policy.to_json().at("rtol") == 0.5);
}

TEST_CASE("looser than the default needs a reason and a date") {
  const std::string looser[]{R"("k": 3.01)", R"("limits": {"fp32": 2e-5})",
                             R"("limits": {"fp16": 6e-3})", R"("limits": {"bf16": 0.031})"};
  for (const std::string& one : looser) {
    CAPTURE(one);
    CHECK(mentions(refusal("{" + one + "}"), "looser than the default"));
    CHECK(mentions(refusal("{" + one + R"(, "reason": "a"})"), "looser"));
    CHECK(mentions(refusal("{" + one + R"(, "date": "2024-06-07"})"), "looser"));
    CHECK(mentions(refusal("{" + one + R"(, "reason": " \t", "date": "2024-06-07"})"), "looser"));
    CHECK(refusal("{" + one + R"(, "reason": "an older kernel", "date": "2024-06-07"})").empty());
  }
  CHECK(refusal(R"({"k": 3, "limits": {"fp32": 1e-5, "fp16": 5e-3, "bf16": 3e-2}})").empty());
}

TEST_CASE("a policy changed after it was read is held to the same") {
  Policy policy = Policy::standard();
  CHECK_NOTHROW(policy.check("--k"));
  policy.k = 4;
  CHECK_THROWS_AS(policy.check("--k"), Error);
  policy.k = std::numeric_limits<double>::quiet_NaN();
  policy.reason = "x";
  policy.date = "2024-06-07";
  CHECK_THROWS_AS(policy.check("--k"), Error);
}

TEST_CASE("what a policy cannot mean is refused, with the place") {
  for (const auto& [text, part] : {
           std::pair{R"({"K": 3})", "unknown key \"K\""},
           {R"({"limits": {"fp8": 1}})", "fp8"},
           {R"({"limits": 1e-5})", "limits: expected an object"},
           {R"({"k": "3"})", "k: expected a number"},
           {R"({"k": true})", "k: expected a number"},
           {R"({"k": -1})", "at least 0, found -1"},
           {R"({"limits": {"fp32": -1e-9}})", "limits.fp32"},
           {R"({"atol": -1e-9})", "atol"},
           {R"({"rtol": -1})", "rtol"},
           {R"({"k": NaN})", "invalid JSON"},
           {R"({"k": Infinity})", "invalid JSON"},
           {R"({"k": 1e999})", "invalid JSON"},
           {R"({"k": 1, "k": 2})", "duplicate key"},
           {R"({"exact": 1})", "exact"},
           {R"({"reason": 7})", "reason: expected a string"},
           {R"({"date": "7 June 2024"})", "YYYY-MM-DD"},
           {R"({"date": "2024-02-30"})", "YYYY-MM-DD"},
           {R"({"date": "2024-6-007"})", "YYYY-MM-DD"},
           {"[]", "object"},
           {"", "invalid JSON"},
       }) {
    const std::string message = refusal(text);
    CAPTURE(text);
    CAPTURE(message);
    CHECK(mentions(message, part));
    CHECK(mentions(message, "team.json"));
  }
}

TEST_CASE("a policy is read from a file") {
  const test::TempDir folder;
  const auto path = folder.path() / "policy.json";
  std::ofstream(path) << R"({"k": 2.5})";
  CHECK(Policy::read(path).k == 2.5);
  CHECK_THROWS_AS(Policy::read(folder.path() / "none.json"), Error);
}

TEST_CASE("R105: below, at and above the limit of a policy") {
  const double limit =
      parse(R"({"limits": {"fp32": 9.5367431640625e-7}})").limit(DType::f32, DType::f32);
  const auto passes = [&](double error) {
    const Rows a(DType::f32, 1, {1 + error});
    const Rows b(DType::f32, 1, {1});
    return compare_items(a.view(), b.view(), Scale::smaller, 1).within(limit);
  };
  CHECK(passes(0x1p-21));
  CHECK(passes(0x1p-20));
  CHECK_FALSE(passes(0x1p-20 + 0x1p-23));
}
