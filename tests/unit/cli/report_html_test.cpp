// The parts of a report's page, and what must never get onto it.
#include "cli/report_html.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/heat_map.h"
#include "cli/html_json.h"
#include "cli/html_text.h"
#include "cli/pca_pictures.h"
#include "support/doctest.h"
#include "support/html_report.h"

using namespace vtower;
using namespace vtower::cli;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

bool has(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

std::string page_of(const Report& report) {
  return report_html(report, {html_items(report, {}), std::nullopt});
}

std::vector<std::uint8_t> bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

// Numbers without any order, the same everywhere.
at::Tensor noise(std::int64_t rows, std::int64_t columns) {
  return at::arange(rows * columns, at::kDouble)
      .mul(12.9898)
      .sin()
      .mul(43758.5453)
      .frac()
      .reshape({rows, columns});
}

}  // namespace

TEST_CASE("text is escaped, whatever it holds") {
  CHECK(html_escaped("<b a=\"1\" b='2'>&amp;") ==
        "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;amp;");
  CHECK(html_escaped("größe 日本 🗼") == "größe 日本 🗼");
  const std::string broken = "\xEF\xBF\xBD";
  CHECK(html_escaped("a\xFF"
                     "b") == "a" + broken + "b");
  CHECK(html_escaped("\xC0\xAF") == broken + broken);               // an overlong slash
  CHECK(html_escaped("\xED\xA0\x80") == broken + broken + broken);  // half of a surrogate pair
  CHECK(html_escaped("\xE2\x82") == broken + broken);               // ends too early
  CHECK(html_escaped("\xE2<b>") == broken + "&lt;b&gt;");
  CHECK(html_escaped(std::string("a\0\x1b\x7f\n", 5)) == "a" + broken + broken + broken + "\n");
}

TEST_CASE("numbers for people") {
  CHECK(html_number(0) == "0");
  CHECK(html_number(1.1e-6) == "1.1e-6");
  CHECK(html_number(-2.5e-12) == "-2.5e-12");
  CHECK(html_number(12345) == "1.23e4");
  CHECK(html_number(not_a_number) == "not finite");
  CHECK(html_number(infinity) == "∞");
  CHECK(html_share(0.354) == "35 %");
  CHECK(html_share(0.00123) == "0.12 %");
  CHECK(html_share(1) == "100 %");
  CHECK(html_share(12.34) == "12.3 ×");
  CHECK(html_share(not_a_number) == "not finite");
}

TEST_CASE("base64") {  // RFC 4648, 10
  CHECK(base64({}).empty());
  CHECK(base64(bytes("f")) == "Zg==");
  CHECK(base64(bytes("fo")) == "Zm8=");
  CHECK(base64(bytes("foo")) == "Zm9v");
  CHECK(base64(bytes("foobar")) == "Zm9vYmFy");
  CHECK(base64(std::vector<std::uint8_t>{0xFB, 0xFF, 0xFE}) == "+//+");
}

TEST_CASE("the colour of an error jumps where its limit is used up") {
  const HeatScale scale(30);
  const auto within = scale.colour(1);
  const auto beyond = scale.colour(1.0001);
  CHECK(within[2] > within[0]);  // cool
  CHECK(beyond[0] > beyond[2]);  // warm
  CHECK(scale.colour(0.001)[3] < 40);
  CHECK(scale.colour(1e9) == scale.colour(100));
  CHECK(scale.colour(0) == scale.colour(0.01));
  CHECK(scale.colour(not_a_number) == scale.colour(infinity));
  CHECK(scale.colour(not_a_number) != scale.colour(1e9));
  CHECK(has(scale.legend(), ">100 ×<"));
}

TEST_CASE("the scale of colours reaches the worst error") {
  const HeatScale scale(8e4);
  CHECK(scale.colour(1) == HeatScale(30).colour(1));
  CHECK(scale.colour(8e4) != scale.colour(8e3));
  CHECK(scale.colour(1e5) == HeatScale(30).colour(100));
  CHECK(has(scale.legend(), ">1e4 ×<"));
}

TEST_CASE("a heat map has a pixel for each token") {
  const std::vector<float> errors{0.0F, 2.0F, std::numeric_limits<float>::quiet_NaN(), 0.5F, 9.0F};
  const HeatScale scale(9);
  RgbaImage image = scale.map(errors, 1.0, {2, 3});
  CHECK(image.size == ImageSize{2, 3});
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto colour = scale.colour(static_cast<double>(errors[i]));
    CHECK(std::equal(colour.begin(), colour.end(), image.pixel(static_cast<std::int64_t>(i))));
  }
  CHECK(image.pixel(5)[3] == 0);  // beyond the last token: nothing
  // Where nothing is allowed, no error is none.
  RgbaImage strict = scale.map(std::vector<float>{0.0F, 1.0F}, 0.0, {1, 2});
  CHECK(strict.pixel(0)[0] == scale.colour(0)[0]);
  CHECK(strict.pixel(1)[0] == scale.colour(infinity)[0]);
}

TEST_CASE("shared components are those of the full covariance") {
  const at::Tensor scales = at::arange(40, at::kDouble).mul(-0.35).exp();
  const at::Tensor a = noise(60, 40).mul(scales);
  const at::Tensor b = noise(60, 40).add(noise(60, 40).cos()).mul(scales);
  const at::Tensor found = shared_components(a, b);
  at::Tensor all = at::cat({a, b});
  all = all.sub(all.mean(0, true));
  const at::Tensor vectors = std::get<1>(at::linalg_eigh(all.t().matmul(all)));
  for (std::int64_t c = 0; c < 3; ++c) {
    const at::Tensor expected = all.matmul(vectors.select(1, 39 - c));
    const at::Tensor got = found.select(1, c);
    const double same = got.dot(expected).abs().item<double>();
    const double norms = at::linalg_vector_norm(got).item<double>() *
                         at::linalg_vector_norm(expected).item<double>();
    CHECK(same > 0.999999 * norms);  // but for the sign
  }
}

TEST_CASE("equal tokens have equal colours, others others") {
  const at::Tensor a = noise(24, 8).to(at::kBFloat16);
  at::Tensor b = a.to(at::kFloat);
  b[13].neg_();
  b[20][3] = not_a_number;
  PcaPictures pictures = pca_pictures(a, b, {2, 3, 4});
  REQUIRE(pictures.a.size() == 2);
  REQUIRE(pictures.b.size() == 2);
  CHECK(pictures.a[0].size == ImageSize{3, 4});
  CHECK(pictures.a[0].pixels == pictures.b[0].pixels);
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::uint8_t* x = pictures.a[1].pixel(i);
    const std::uint8_t* y = pictures.b[1].pixel(i);
    CAPTURE(i);
    CHECK(std::equal(x, x + 4, y) == (i != 1 && i != 8));
  }
  CHECK(pictures.b[1].pixel(8)[3] == 0);
  CHECK(pictures.a[1].pixel(8)[3] == 255);
}

TEST_CASE("pictures of tokens that hold next to nothing") {
  const at::Tensor zeros = at::zeros({4, 2});
  CHECK(pca_pictures(zeros, zeros, {1, 2, 2}).a[0].pixel(0)[3] == 255);
  const at::Tensor lost = zeros.add(not_a_number);
  CHECK(pca_pictures(lost, lost, {1, 2, 2}).a[0].pixel(0)[3] == 0);
  const at::Tensor single = at::zeros({1, 1}).add(3);
  CHECK(pca_pictures(single, single, {1, 1, 1}).b[0].pixel(0)[3] == 255);
}

TEST_CASE("JSON as tables") {
  using Json = nlohmann::ordered_json;
  CHECK(html_json(Json("<x>")) == "&lt;x&gt;");
  CHECK(html_json({1, 2.5, true}) == "1, 2.5, yes");
  const Json rows = Json::array({{{"a", 1}, {"b", "<"}}, {{"a", 2}, {"b", nullptr}}});
  const std::string table = html_json(rows);
  CHECK(has(table, "<th>a</th><th>b</th>"));
  CHECK(has(table, "<td>1</td><td>&lt;</td>"));
  CHECK(has(table, "<td>2</td><td>—</td>"));
  CHECK(has(html_json({{"<k>", Json::object()}}), "<th scope=\"row\">&lt;k&gt;</th><td>none</td>"));
}

TEST_CASE("each verdict has its banner") {
  Report report;
  report.command = "diff";
  const auto banner = [&](Verdict verdict, int code) {
    report.verdict = verdict;
    report.exit_code = code;
    const std::string page = page_of(report);
    const std::size_t begin = page.find("<header class=\"banner ");
    REQUIRE(begin != std::string::npos);
    return page.substr(begin, page.find("</header>") - begin);
  };
  CHECK(has(banner(Verdict::agree, 0), "banner agree\"><h1>Agree"));
  CHECK(has(banner(Verdict::differ, 3), "banner differ\"><h1>Differ"));
  CHECK(has(banner(Verdict::not_comparable, 4), "banner unsure\"><h1>Not comparable"));
  CHECK(has(banner(Verdict::vacuous, 9), "banner unsure\"><h1>Nothing compared"));
  // Agreement of what did run is not all that was asked for.
  CHECK(has(banner(Verdict::agree, 7), "banner unsure\"><h1>Agree"));
  CHECK(has(banner(Verdict::differ, 3), "<b>3</b>: differ, cause named"));
}

TEST_CASE("no more than 20 items are drawn, the worst of them, and it is said") {
  Report report;
  report.pairs.resize(2);
  for (int i = 0; i < 50; ++i) {
    const std::string name = "item " + std::to_string(i);
    report.pairs[0].items.push_back(test::html_entry(name, {1, 3, 4}, 0.1));
    report.pairs[1].items.push_back(test::html_entry(name, {1, 3, 4}, i == 7 ? 300 : 1.0 + i));
  }
  report.pairs[0].items[30].comparison.worst_error = not_a_number;
  const HtmlItems items = html_items(report, {});
  CHECK(items.of == 50);
  REQUIRE(items.drawn.size() == 20);
  CHECK(items.drawn[0].pair == 0);
  CHECK(items.drawn[0].entry == 30);
  CHECK(items.drawn[1].pair == 1);
  CHECK(items.drawn[1].entry == 7);
  CHECK(items.drawn[2].entry == 49);
  CHECK(has(page_of(report), "Drawn: the worst 20 of 50 items."));
}

TEST_CASE("of a long clip the groups with the largest errors are drawn") {
  Report report;
  report.pairs.resize(1);
  report.pairs[0].items.push_back(test::html_entry("clip", {9, 3, 4}, 2));
  std::vector<float>& errors = report.pairs[0].items[0].comparison.errors;
  errors[2] = std::numeric_limits<float>::quiet_NaN();
  const HtmlItems items = html_items(report, test::picture_source());
  REQUIRE(items.drawn.size() == 1);
  std::vector<std::int64_t> groups;
  for (const HtmlGroup& group : items.drawn[0].groups) {
    groups.push_back(group.group);
    CHECK(group.photograph);
    CHECK(group.pca_b);
  }
  CHECK(groups == std::vector<std::int64_t>{0, 6, 7, 8});
}

TEST_CASE("large photographs are scaled down, small ones kept") {
  Report report;
  report.pairs.resize(1);
  report.pairs[0].items.push_back(test::html_entry("wide", {1, 20, 60}, 2));
  report.pairs[0].items.push_back(test::html_entry("small", {1, 3, 4}, 1));
  const HtmlItems items = html_items(report, test::picture_source());
  REQUIRE(items.drawn.size() == 2);
  CHECK(items.drawn[0].groups[0].photograph->size == ImageSize{170, 512});
  CHECK(items.drawn[1].groups[0].photograph->size == ImageSize{84, 112});
}
