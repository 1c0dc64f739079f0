#include "cli/html_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cli/html_text.h"

namespace vtower::cli {
namespace {

constexpr std::size_t most_items = 200;  // listed below a pair

std::string cell(const std::string& html) {
  return html_tag("td", html);
}

std::string row_of(std::initializer_list<std::string> cells) {
  std::string html;
  for (const std::string& one : cells) html += cell(one);
  return html_tag("tr", html);
}

std::string head_of(std::initializer_list<const char*> names) {
  std::string html;
  for (const char* name : names) html += html_tag("th", name, "scope=\"col\"");
  return html_tag("thead", html_tag("tr", html));
}

bool worse(const ItemReport* a, const ItemReport* b) {
  const double x = a->used();
  const double y = b->used();
  return std::isnan(x) ? !std::isnan(y) : x > y;
}

// The worst first; what is no number before all else.
std::vector<const ItemReport*> sorted_items(const PairReport& pair) {
  std::vector<const ItemReport*> items;
  for (const ItemReport& item : pair.items) items.push_back(&item);
  std::ranges::stable_sort(items, worse);
  return items;
}

std::string norm_ratio(double smallest, double largest) {
  return html_number(smallest) + " – " + html_number(largest);
}

std::string items_of(const std::vector<const ItemReport*>& items) {
  std::string rows;
  for (std::size_t i = 0; i < std::min(items.size(), most_items); ++i) {
    const ItemReport& item = *items[i];
    const ItemComparison& found = item.comparison;
    rows +=
        row_of({html_escaped(item.item), html_escaped(item.tensor), std::to_string(found.tokens),
                html_number(found.worst_error), html_number(item.limit), html_share(item.used()),
                html_number(found.quantiles.median) + " / " + html_number(found.quantiles.p99),
                html_number(found.smallest_cosine),
                norm_ratio(found.smallest_norm_ratio, found.largest_norm_ratio),
                std::to_string(found.non_finite_a) + " / " + std::to_string(found.non_finite_b)});
  }
  std::string html = html_tag(
      "table",
      head_of({"item", "tensor", "tokens", "worst token", "limit", "share used",
               "median / 99th percentile", "smallest cosine", "norm ratio", "not finite, a / b"}) +
          html_tag("tbody", rows),
      "class=\"numbers\"");
  if (items.size() > most_items) {
    html += html_tag("p", std::to_string(items.size() - most_items) +
                              " more, all using less of their limits, are left out.");
  }
  return html_tag("details", html_tag("summary", std::to_string(items.size()) +
                                                     (items.size() == 1 ? " tensor" : " tensors")) +
                                 html_tag("div", html, "class=\"scroll\""));
}

std::string list_of(const std::vector<std::string>& entries) {
  std::string html;
  for (const std::string& entry : entries) html += html_tag("li", html_escaped(entry));
  return html_tag("ul", html);
}

std::string below_of(const PairReport& pair, const std::vector<const ItemReport*>& items) {
  std::string html;
  if (!pair.reason.empty()) html += html_tag("p", html_escaped(pair.reason));
  if (!pair.notes.empty()) html += list_of(pair.notes);
  if (!pair.skipped.empty()) {
    std::vector<std::string> skipped;
    for (std::size_t i = 0; i < std::min(pair.skipped.size(), most_items); ++i) {
      const SkippedItem& one = pair.skipped[i];
      skipped.push_back(one.item + (one.tensor.empty() ? "" : " " + one.tensor) + ": " +
                        html_word_of(one.verdict) + ", " + one.reason);
    }
    html +=
        html_tag("p", std::to_string(pair.skipped.size()) + " not compared:") + list_of(skipped);
  }
  if (!items.empty()) html += items_of(items);
  return html;
}

std::string pair_rows(const PairReport& pair) {
  const std::vector<const ItemReport*> items = sorted_items(pair);
  double cosine = 1;
  double smallest_ratio = 1;
  double largest_ratio = 1;
  std::int64_t non_finite_a = 0;
  std::int64_t non_finite_b = 0;
  // NaN, where no token is finite, stays.
  const auto smaller = [](double x, double y) { return x <= y ? x : y; };
  const auto larger = [](double x, double y) { return x >= y ? x : y; };
  for (const ItemReport* item : items) {
    const ItemComparison& found = item->comparison;
    cosine = smaller(cosine, found.smallest_cosine);
    smallest_ratio = smaller(smallest_ratio, found.smallest_norm_ratio);
    largest_ratio = larger(largest_ratio, found.largest_norm_ratio);
    non_finite_a += found.non_finite_a;
    non_finite_b += found.non_finite_b;
  }
  const std::string none = "—";
  std::string cells = cell("<b>" + html_escaped(pair.a) + "</b> against " + html_escaped(pair.b));
  cells +=
      html_tag("td", html_word_of(pair.verdict), "class=\"" + html_class_of(pair.verdict) + "\"");
  if (items.empty()) {
    for (int i = 0; i < 8; ++i) cells += cell(none);
  } else {
    const ItemReport& worst = *items.front();
    cells += cell(html_number(worst.comparison.worst_error)) + cell(html_number(worst.limit)) +
             cell(html_share(worst.used())) +
             cell(pair.smallest_k ? html_number(*pair.smallest_k) : none) +
             cell(html_number(cosine)) + cell(norm_ratio(smallest_ratio, largest_ratio)) +
             cell(std::to_string(non_finite_a) + " / " + std::to_string(non_finite_b)) +
             cell(pair.identical           ? "yes"
                  : pair.must_be_identical ? "no"
                                           : none);
  }
  const std::string below = below_of(pair, items);
  std::string rows = html_tag("tr", cells, below.empty() ? "" : "class=\"has-more\"");
  if (!below.empty()) {
    rows += html_tag("tr", html_tag("td", below, "colspan=\"10\""), "class=\"more\"");
  }
  return rows;
}

}  // namespace

std::string html_pairs(const Report& report) {
  std::string rows;
  for (const PairReport& pair : report.pairs) rows += pair_rows(pair);
  const std::string table =
      head_of({"what", "verdict", "worst token", "its limit", "share used", "smallest k",
               "smallest cosine", "norm ratio", "not finite, a / b", "same bytes"}) +
      html_tag("tbody", rows);
  return html_tag("div", html_tag("table", table, "class=\"numbers\""), "class=\"scroll\"");
}

std::string html_failed(const Report& report) {
  if (!report.failed.is_array() || report.failed.empty()) return "";
  std::string rows;
  for (const auto& item : report.failed) {
    rows += row_of({html_escaped(item.value("path", "")), html_escaped(item.value("class", "")),
                    html_escaped(item.value("message", ""))});
  }
  return html_tag("table", head_of({"item", "class", "message"}) + html_tag("tbody", rows));
}

std::string html_class_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agree: return "agree";
    case Verdict::differ: return "differ";
    case Verdict::not_comparable:
    case Verdict::vacuous: break;
  }
  return "unsure";
}

std::string html_word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agree: return "agree";
    case Verdict::differ: return "differ";
    case Verdict::not_comparable: return "not comparable";
    case Verdict::vacuous: break;
  }
  return "nothing compared";
}

}  // namespace vtower::cli
