#include "check/report_junit.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

#include "check/printable.h"
#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

// For attributes and text alike. XML 1.0 has no place for most control characters, U+FFFE and
// U+FFFF, not even escaped.
std::string escaped(std::string_view raw) {
  std::string text;
  const std::string valid = valid_utf8(raw);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto c = static_cast<unsigned char>(valid[i]);
    switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '"': text += "&quot;"; break;
      case '\'': text += "&apos;"; break;
      case '\t': text += "&#9;"; break;
      case '\n': text += "&#10;"; break;
      case '\r': text += "&#13;"; break;
      default:
        if (c < 0x20) {
          text += "\xEF\xBF\xBD";
        } else if (valid.compare(i, 3, "\xEF\xBF\xBE") == 0 ||
                   valid.compare(i, 3, "\xEF\xBF\xBF") == 0) {
          text += "\xEF\xBF\xBD";
          i += 2;
        } else {
          text += valid[i];
        }
    }
  }
  return text;
}

enum class Outcome { passed, failure, error };

struct Case {
  std::string name;
  Outcome outcome = Outcome::passed;
  std::string type;     // of what went wrong
  std::string message;  // what went wrong, or what was measured
};

struct Suite {
  std::string name;
  std::vector<Case> cases;
};

std::int64_t count(const Suite& suite, Outcome outcome) {
  return std::count_if(suite.cases.begin(), suite.cases.end(),
                       [=](const Case& one) { return one.outcome == outcome; });
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string measured(const ItemReport& item) {
  const ItemComparison& found = item.comparison;
  std::string text = item.tensor + ": token " + std::to_string(found.worst_token) + " of " +
                     std::to_string(found.tokens) + " has error " + number(found.worst_error) +
                     ", limit " + number(item.limit);
  if (found.non_finite_a > 0 || found.non_finite_b > 0) {
    text += ", values not finite: " + std::to_string(found.non_finite_a) + " in a, " +
            std::to_string(found.non_finite_b) + " in b";
  }
  if (found.beyond > 0)
    text += ", values beyond atol + rtol * |b|: " + std::to_string(found.beyond);
  return text;
}

void add(Case& to, Outcome outcome, const std::string& type, const std::string& message) {
  if (outcome == Outcome::passed && to.outcome != Outcome::passed) return;
  if (outcome != Outcome::passed && to.outcome == Outcome::passed) to.message.clear();
  if (outcome != Outcome::passed) {
    to.outcome = outcome;
    if (to.type.empty()) to.type = type;
  }
  to.message += (to.message.empty() ? "" : "\n") + message;
}

Suite suite_of(const PairReport& pair) {
  Suite suite{pair.a + " against " + pair.b, {}};
  std::map<std::string, std::size_t> places;
  const auto case_of = [&](const std::string& item) -> Case& {
    const auto [place, is_new] = places.try_emplace(item, suite.cases.size());
    if (is_new) suite.cases.push_back({item, Outcome::passed, "", ""});
    return suite.cases[place->second];
  };
  for (const ItemReport& item : pair.items) {
    const bool bytes = !pair.must_be_identical || item.comparison.identical;
    const bool passed = item.passes() && bytes;
    add(case_of(item.item), passed ? Outcome::passed : Outcome::failure, "differ",
        measured(item) + (bytes ? "" : ", not the same bytes"));
  }
  for (const SkippedItem& item : pair.skipped) {
    add(case_of(item.item), Outcome::failure, std::string(to_string(item.verdict)),
        (item.tensor.empty() ? "" : item.tensor + ": ") + item.reason);
  }
  // A pair that does not agree must not look as if it did.
  if (pair.verdict != Verdict::agree && count(suite, Outcome::failure) == 0) {
    std::string message = pair.reason;
    for (const std::string& note : pair.notes) message += (message.empty() ? "" : "\n") + note;
    suite.cases.push_back(
        {"the pair as a whole", Outcome::failure, std::string(to_string(pair.verdict)), message});
  }
  return suite;
}

Suite suite_of_what_did_not_run(const Report& report) {
  Suite suite{"did not run", {}};
  for (const std::string& mode : report.not_run) {
    suite.cases.push_back({mode.substr(0, mode.find(':')), Outcome::error, "not_run", mode});
  }
  for (const auto& failure : report.failed) {
    if (!failure.is_object()) continue;
    suite.cases.push_back({failure.value("path", ""), Outcome::error, failure.value("class", ""),
                           failure.value("message", "")});
  }
  return suite;
}

std::string counts_of(std::int64_t tests, std::int64_t failures, std::int64_t errors) {
  return " tests=\"" + std::to_string(tests) + "\" failures=\"" + std::to_string(failures) +
         "\" errors=\"" + std::to_string(errors) + "\"";
}

std::string xml_of(const Case& one, const std::string& suite) {
  std::string xml =
      "    <testcase classname=\"" + escaped(suite) + "\" name=\"" + escaped(one.name) + "\">";
  if (one.outcome == Outcome::passed) {
    xml += "<system-out>" + escaped(one.message) + "</system-out>";
  } else {
    const std::string tag = one.outcome == Outcome::failure ? "failure" : "error";
    const std::string first = one.message.substr(0, one.message.find('\n'));
    xml += "<" + tag + " type=\"" + escaped(one.type) + "\" message=\"" + escaped(first) + "\">" +
           escaped(one.message) + "</" + tag + ">";
  }
  return xml + "</testcase>\n";
}

}  // namespace

std::string to_junit(const Report& report) {
  std::vector<Suite> suites;
  for (const PairReport& pair : report.pairs) suites.push_back(suite_of(pair));
  Suite other = suite_of_what_did_not_run(report);
  if (!other.cases.empty()) suites.push_back(std::move(other));
  if (suites.empty()) {
    suites.push_back({"nothing compared",
                      {{"the report", Outcome::failure, "vacuous", "no pair was compared"}}});
  }
  std::string body;
  std::int64_t tests = 0;
  std::int64_t failures = 0;
  std::int64_t errors = 0;
  for (const Suite& suite : suites) {
    tests += std::ssize(suite.cases);
    failures += count(suite, Outcome::failure);
    errors += count(suite, Outcome::error);
    body += "  <testsuite name=\"" + escaped(suite.name) + "\"" +
            counts_of(std::ssize(suite.cases), count(suite, Outcome::failure),
                      count(suite, Outcome::error)) +
            ">\n";
    for (const Case& one : suite.cases) body += xml_of(one, suite.name);
    body += "  </testsuite>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"vtower " +
         escaped(report.command) + "\"" + counts_of(tests, failures, errors) + ">\n" + body +
         "</testsuites>\n";
}

}  // namespace vtower
