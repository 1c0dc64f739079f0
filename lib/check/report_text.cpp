#include "check/report_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "check/printable.h"
#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t most_rows = 20;   // of a pair's table
constexpr std::size_t most_notes = 12;  // lines of one list
constexpr std::size_t item_column = 33;
constexpr std::size_t tensor_column = 11;  // "deepstack.0"

std::string formatted(const char* format, double value) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string number(double value, const char* format = "%.3g") {
  return std::isnan(value) ? "NaN" : formatted(format, value);
}

std::string share(double used) {
  if (std::isnan(used)) return "NaN";
  if (std::isinf(used)) return "inf";
  if (used >= 100) return formatted("%.3gx", used);
  return formatted("%.1f%%", 100 * used);
}

std::string count(std::int64_t number_of, const std::string& what) {
  return std::to_string(number_of) + " " + what + (number_of == 1 ? "" : "s");
}

std::string left(const std::string& text, std::size_t width) {
  const std::size_t length = length_of(text);
  return length < width ? text + std::string(width - length, ' ') : text;
}

std::string right(const std::string& text, std::size_t width) {
  const std::size_t length = length_of(text);
  return length < width ? std::string(width - length, ' ') + text : text;
}

// "  cause     words words", further lines under the first.
std::string entry(const std::string& name, const std::string& text) {
  return wrapped("  " + left(name, 10), printable(text), columns);
}

std::string listing(const std::string& name, const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == most_notes && lines.size() > most_notes + 1) {
      return text + entry("", "and " + std::to_string(lines.size() - i) + " more");
    }
    text += entry(i == 0 ? name : "", lines[i]);
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string headline(const Report& report) {
  switch (report.verdict) {
    case Verdict::agree: return "AGREE";
    case Verdict::differ: return report.cause ? "DIFFER, cause known" : "DIFFER, cause unknown";
    case Verdict::not_comparable: return "NOT COMPARABLE";
    case Verdict::vacuous: return "NOTHING COMPARED";
  }
  return "";
}

struct Totals {
  std::set<std::string> items;
  std::int64_t tokens = 0;
  std::int64_t beyond = 0;
  double largest_limit = 0;
  double largest_used = 0;
};

Totals totals_of(const Report& report) {
  Totals totals;
  for (const PairReport& pair : report.pairs) {
    for (const ItemReport& item : pair.items) {
      totals.items.insert(item.item);
      totals.tokens += item.comparison.tokens;
      totals.beyond += item.tokens_beyond();
      totals.largest_limit = std::max(totals.largest_limit, item.limit);
      if (item.used() > totals.largest_used) totals.largest_used = item.used();
    }
  }
  return totals;
}

std::string tested(const Report& report) {
  const Totals totals = totals_of(report);
  const auto pairs = static_cast<std::int64_t>(report.pairs.size());
  const auto items = static_cast<std::int64_t>(totals.items.size());
  return count(pairs, "pair") + ", " + count(items, "item") + ", " + count(totals.tokens, "token") +
         " compared";
}

std::string how_much(const Report& report) {
  const Totals totals = totals_of(report);
  if (report.verdict == Verdict::agree) {
    return "the worst token uses " + share(totals.largest_used) +
           " of its limit; a token's error above " + number(totals.largest_limit) +
           " would have been seen";
  }
  std::string text;
  if (report.worst) {
    text = "error " + number(report.worst->value) + ", limit " + number(report.worst->limit) + "; ";
  }
  return text + count(totals.beyond, "token") + " of " + std::to_string(totals.tokens) +
         " beyond the limit";
}

std::string cause_text(const Cause& cause) {
  std::string text = cause.sentence + " (" + cause.id + ") in " + cause.side;
  text += "; residual " + number(cause.residual) + " of " + number(cause.limit) + " allowed";
  if (cause.runner_up) {
    text +=
        "; the next best, " + cause.runner_up->id + ", leaves " + number(cause.runner_up->residual);
  }
  return text;
}

std::string place_text(const Worst& worst) {
  std::string text = worst.pair + ": " + worst.item + ", " + worst.tensor + ", token " +
                     std::to_string(worst.token);
  if (worst.box_px && worst.box_px->size() == 4) {
    const std::vector<std::int64_t>& box = *worst.box_px;
    text += ", pixels " + std::to_string(box[0]) + "," + std::to_string(box[1]) + " to " +
            std::to_string(box[2]) + "," + std::to_string(box[3]) + " of the resized picture";
  }
  if (worst.frames && worst.frames->size() == 2) {
    text += ", frames " + std::to_string(worst.frames->front()) + " to " +
            std::to_string(worst.frames->back());
  }
  return text;
}

std::vector<std::string> reasons_of(const Report& report) {
  std::vector<std::string> reasons;
  for (const PairReport& pair : report.pairs) {
    if (!pair.reason.empty()) reasons.push_back(pair.a + " against " + pair.b + ": " + pair.reason);
  }
  return reasons;
}

std::vector<std::string> failures_of(const Report& report) {
  std::vector<std::string> lines;
  for (const auto& failure : report.failed) {
    if (!failure.is_object()) continue;
    lines.push_back(failure.value("path", "") + ": " + failure.value("class", "") + ": " +
                    failure.value("message", ""));
  }
  return lines;
}

std::string summary(const Report& report) {
  std::string text =
      wrapped("", headline(report) + " (exit " + std::to_string(report.exit_code) + ")", columns);
  if (report.cause) {
    text += entry("cause", cause_text(*report.cause));
    if (!report.cause->also.empty()) {
      text += entry("", "these inputs cannot tell it from: " + joined(report.cause->also));
    }
  }
  text += listing("numbers", report.algebra);
  if (!report.first_wrong_stage.empty()) {
    text += entry("stage", "the first beyond rounding is " + report.first_wrong_stage);
  }
  text += listing("reason", reasons_of(report));
  if (report.worst && report.verdict == Verdict::differ) {
    text += entry("where", place_text(*report.worst));
    if (!report.worst->pattern.empty()) {
      text += entry("", "beyond the limit: " + report.worst->pattern);
    }
  }
  const Totals totals = totals_of(report);
  if (totals.tokens > 0) text += entry("how much", how_much(report));
  text += entry("tested", tested(report));
  text += listing("not run", report.not_run);
  text += listing("failed", failures_of(report));
  text += listing("notes", report.notes);
  return text +
         listing("do", report.next_steps.empty() ? usual_next_steps(report) : report.next_steps);
}

std::string table_row(const std::string& item, const std::string& tensor,
                      const std::array<std::string, 6>& cells) {
  constexpr std::array<std::size_t, 6> widths{7, 7, 9, 9, 8, 9};
  std::string row = "  " + left(item, item_column) + " " + left(tensor, tensor_column);
  for (std::size_t i = 0; i < cells.size(); ++i) row += " " + right(cells[i], widths[i] - 1);
  return row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
}

std::string item_row(const ItemReport& item) {
  const ItemComparison& found = item.comparison;
  const std::string tensor = item.tensor == "embeddings" ? "main" : item.tensor;
  std::string row = table_row(
      shortened(printable(item.item), item_column), shortened(printable(tensor), tensor_column),
      {std::to_string(found.tokens), std::to_string(found.worst_token), number(found.worst_error),
       number(item.limit), share(item.used()), number(found.smallest_cosine, "%.5f")});
  if (item.passes()) return row;
  std::string detail =
      count(item.tokens_beyond(), "token") + " beyond; norms " + number(found.smallest_norm_ratio) +
      " to " + number(found.largest_norm_ratio) + " of b's, largest difference of a value " +
      number(found.largest_difference) + ", pooled error " + number(found.pooled_error);
  if (found.non_finite_a > 0 || found.non_finite_b > 0) {
    detail += "; values not finite: " + std::to_string(found.non_finite_a) + " in a, " +
              std::to_string(found.non_finite_b) + " in b";
  }
  if (found.beyond > 0) {
    detail += "; " + count(found.beyond, "value") + " beyond atol + rtol * |b|";
  }
  return row + wrapped("      ", detail, columns);
}

// Items beyond their limit first, then by the share of it that they use.
std::vector<const ItemReport*> by_weight(const PairReport& pair) {
  std::vector<const ItemReport*> items;
  for (const ItemReport& item : pair.items) items.push_back(&item);
  const auto weight = [](const ItemReport* item) {
    const double used = item->used();
    return std::pair(!item->passes(),
                     std::isnan(used) ? std::numeric_limits<double>::infinity() : used);
  };
  std::stable_sort(items.begin(), items.end(),
                   [&](const ItemReport* x, const ItemReport* y) { return weight(x) > weight(y); });
  return items;
}

std::string pair_text(const PairReport& pair) {
  std::string head = pair.a + " against " + pair.b + ": " + std::string(to_string(pair.verdict));
  if (pair.identical) head += ", the same bytes";
  if (pair.must_be_identical && !pair.identical) head += ", not the same bytes as was asked for";
  if (pair.smallest_k) head += "; the smallest k that passes is " + number(*pair.smallest_k);
  std::string text = "\n" + wrapped("", printable(head), columns);
  text += listing("reason", pair.reason.empty() ? std::vector<std::string>{}
                                                : std::vector<std::string>{pair.reason});
  text += listing("notes", pair.notes);
  std::vector<std::string> skipped;
  for (const SkippedItem& item : pair.skipped) {
    skipped.push_back(item.item + (item.tensor.empty() ? "" : ", " + item.tensor) + ": " +
                      item.reason);
  }
  text += listing("left out", skipped);
  if (pair.items.empty()) return text;
  text += table_row("item", "tensor", {"tokens", "worst", "error", "limit", "used", "cosine"});
  const std::vector<const ItemReport*> items = by_weight(pair);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == most_rows && items.size() > most_rows + 1) {
      const auto failing = std::count_if(items.begin() + most_rows, items.end(),
                                         [](const ItemReport* item) { return !item->passes(); });
      return text + "  and " + std::to_string(items.size() - i) + " more, " +
             std::to_string(failing) + " of them beyond their limit\n";
    }
    text += item_row(*items[i]);
  }
  return text;
}

}  // namespace

std::vector<std::string> usual_next_steps(const Report& report) {
  const bool with_truth =
      std::any_of(report.pairs.begin(), report.pairs.end(),
                  [](const PairReport& pair) { return pair.smallest_k.has_value(); });
  switch (report.verdict) {
    case Verdict::agree: return {};
    case Verdict::differ:
      if (report.cause) return {"repair it in " + report.cause->side + ", then run this again"};
      if (!with_truth) {
        return {
            "run vtower diff A B --checkpoint C --pixels P: it measures the limit on these inputs "
            "and looks for the cause"};
      }
      return {"run both sides with --stages and compare them stage by stage"};
    case Verdict::not_comparable:
      return {"make both sides alike in what the reason names, then run this again"};
    case Verdict::vacuous: return {"give two different dumps that hold tokens"};
  }
  return {};
}

std::string to_text(const Report& report) {
  std::string text = summary(report);
  for (const PairReport& pair : report.pairs) text += pair_text(pair);
  return text;
}

}  // namespace vtower
