#include "check/report.h"

#include <algorithm>
#include <sstream>

#include "check/printable.h"
#include "check/report_json.h"
#include "check/report_junit.h"
#include "check/report_text.h"
#include "report_samples.h"
#include "support/doctest.h"

using namespace vtower;

namespace {

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("bytes that are no UTF-8 are replaced one by one") {
  CHECK(valid_utf8("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80") ==
        "plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(valid_utf8("a\xFF") == "a" + bad);
  CHECK(valid_utf8("\xC3") == bad);
  CHECK(valid_utf8("\xC3(") == bad + "(");
  CHECK(valid_utf8("\xC0\xAF") == bad + bad);                      // too long for its character
  CHECK(valid_utf8("\xED\xA0\x80") == bad + bad + bad);            // half of a surrogate pair
  CHECK(valid_utf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
}

TEST_CASE("a terminal is given nothing to obey") {
  CHECK(printable("a\x1b[31m\n\x7f\xC2\x9B!") ==
        "a?[31m??"
        "?!");
  CHECK(printable("\xC3\xA9\xC2\xA0") == "\xC3\xA9\xC2\xA0");
}

TEST_CASE("text is broken between words, and inside of those that are too long") {
  CHECK(wrapped("", "", 20) == "\n");
  CHECK(wrapped("  x ", "one two three", 11) == "  x one two\n    three\n");
  CHECK(wrapped("- ", "abcdefghij kl", 8) == "- abcdef\n  ghij\n  kl\n");
  CHECK(wrapped("", "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 2) ==
        "\xC3\xA9\xC3\xA9\n\xC3\xA9\xC3\xA9\n");
  CHECK(shortened("a/long/path.png", 11) == "...path.png");
  CHECK(shortened("short", 11) == "short");
}

TEST_CASE("no line of a report is longer than 100 characters, whatever the names") {
  for (const auto& [name, report] : test::sample_reports()) {
    CAPTURE(name);
    const std::string text = to_text(report);
    CHECK(valid_utf8(text) == text);
    for (const std::string& line : lines_of(text)) {
      CHECK(length_of(line) <= 100);
      CHECK(printable(line) == line);
    }
  }
  Report long_names = test::differing_report();
  long_names.pairs[0].items[0].item = std::string(300, 'x');
  long_names.worst->item = std::string(300, 'y');
  for (const std::string& line : lines_of(to_text(long_names))) CHECK(length_of(line) <= 100);
}

TEST_CASE("the first screen says verdict, cause, place, size and what to do") {
  const std::vector<std::string> lines = lines_of(to_text(test::differing_report()));
  CHECK(lines.front() == "DIFFER, cause known (exit 3)");
  std::string screen;
  for (std::size_t i = 0; i < 24 && i < lines.size(); ++i) screen += lines[i] + "\n";
  for (const char* part :
       {"cause     the normalisation was skipped (norm_skipped) in graph, replay 2",
        "cannot tell it from: norm_on_bytes", "b is a scaled by 1.86", "block.0.attn",
        "token 2, pixels 56,0 to 84,28", "frames 0 to 1", "beyond the limit: all tokens",
        "error NaN, limit 0.001; 2 tokens of 24 beyond the limit", "2 pairs, 2 items",
        "no CUDA device", "z.png: truncated: ends early", "do        repair it"}) {
    CAPTURE(part);
    CHECK(mentions(screen, part));
  }
}

TEST_CASE("agreement says what it tested and what would have been seen") {
  std::string text = to_text(test::agreeing_report());
  CHECK_FALSE(mentions(text, "\n  do "));
  text.replace(text.find("\n            seen"), 13, " ");
  CHECK(mentions(text, "AGREE (exit 0)"));
  CHECK(mentions(text, "the worst token uses 50.0% of its limit"));
  CHECK(mentions(text, "error above 0.001 would have been seen"));
  CHECK(mentions(text, "1 pair, 2 items, 12 tokens compared"));
}

TEST_CASE("what is not comparable says why, and what to do") {
  const std::string text = to_text(test::incomparable_report());
  CHECK(mentions(text, "NOT COMPARABLE (exit 4)"));
  CHECK(mentions(text, "graph, replay 2 against oracle: y.png: only in a"));
  CHECK(mentions(text, "x.png, deepstack.1: all zero on both sides"));
  CHECK(mentions(text, "\n  do "));
  CHECK(mentions(to_text(test::vacuous_report()), "NOTHING COMPARED (exit 9)"));
}

TEST_CASE("a long table shows failing items first and counts the rest") {
  std::vector<ItemReport> items;
  for (int i = 0; i < 40; ++i) {
    items.push_back(test::sample_item("sound" + std::to_string(i), 1e-4, 1e-3));
  }
  items.push_back(test::sample_item("bad", 1, 1e-3));
  Report report = test::differing_report();
  report.pairs = {test::sample_pair(items)};
  const std::string text = to_text(report);
  CHECK(text.find("\n  bad ") < text.find("\n  sound0 "));
  CHECK(mentions(text, "and 21 more, 0 of them beyond their limit"));
}

TEST_CASE("a pair that fails as a whole is red in JUnit") {
  Report report = test::agreeing_report();
  CHECK_FALSE(mentions(to_junit(report), "<failure"));
  report.pairs[0].verdict = Verdict::differ;
  report.pairs[0].notes = {"its ledger has other stages"};
  CHECK(mentions(to_junit(report), "<failure type=\"differ\" message=\"its ledger has other"));
  report = test::agreeing_report();
  report.pairs[0].must_be_identical = true;
  CHECK(mentions(to_junit(report), "not the same bytes"));
}

TEST_CASE("JSON has every item and no number that JSON cannot hold") {
  const nlohmann::ordered_json json = to_json(test::differing_report());
  CHECK(json.at("pairs").at(0).at("items").at(0).at("worst_error") == "NaN");
  CHECK(json.at("pairs").at(0).at("smallest_k") == "Infinity");
  CHECK(json.at("pairs").at(0).at("items").at(2).at("used").get<double>() == doctest::Approx(0.1));
  CHECK(json.at("cause").at("runner_up").at("residual") == "NaN");
  CHECK(json.at("worst").at("box_px") == std::vector<int>{56, 0, 84, 28});
  CHECK(to_json(test::agreeing_report()).at("worst").is_null());
  CHECK_NOTHROW((void)to_json(test::hostile_report()).dump());
}

TEST_CASE("R105: the report holds the hashes of the inputs") {
  const nlohmann::ordered_json json = to_json(test::agreeing_report());
  CHECK(json.at("pairs").at(0).at("items").at(0).at("input_sha256") == std::string(64, 'a'));
}

TEST_CASE("tokens beyond the limit agree with the verdict in the last bit") {
  // As float32 the error is rounded to the limit.
  const ItemReport item = test::sample_item("x", 1e-3 * (1 + 1e-12), 1e-3);
  CHECK_FALSE(item.passes());
  CHECK(item.tokens_beyond() == 1);
  CHECK(test::sample_item("x", 1e-3, 1e-3).tokens_beyond() == 0);
}
