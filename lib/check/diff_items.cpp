#include "check/diff_items.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "check/record_differences.h"
#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

const Json& record_of(const DiffSide& side) {
  static const Json none;
  return side.record != nullptr ? *side.record : none;
}

// What is known of an item's input, as in a record.
Json input_of(const DiffSide& side, std::size_t place) {
  const Json& record = record_of(side);
  if (record.is_object() && record.contains("items")) {
    const Json& items = record.at("items");
    if (items.is_array() && items.size() == side.items.size()) return items[place];
  }
  const DumpItem& item = side.items[place];
  if (item.input_sha256.empty()) return {};
  return {{"path", item.path}, {"sha256", item.input_sha256}};
}

// Places of items that belong together.
struct Match {
  std::size_t a = 0;
  std::size_t b = 0;
};

struct Matching {
  std::vector<Match> matches;
  std::vector<SkippedItem> skipped;
  std::vector<std::string> notes;
};

SkippedItem alone(const std::string& item, const char* side) {
  return {item, "", Verdict::not_comparable, std::string("only in ") + side};
}

// The k-th item of a key is "key" or, from the second on, "key (k)".
using Place = std::pair<std::string, std::size_t>;
std::map<Place, std::size_t> places_by_key(std::span<const DumpItem> items) {
  std::map<Place, std::size_t> places;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    places[{items[i].key, seen[items[i].key]++}] = i;
  }
  return places;
}

Matching match_by_key(const DiffSide& a, const DiffSide& b) {
  const auto places_a = places_by_key(a.items);
  const auto places_b = places_by_key(b.items);
  Matching found;
  for (const auto& [place, index] : places_a) {
    const auto other = places_b.find(place);
    if (other != places_b.end()) {
      found.matches.push_back({index, other->second});
    } else {
      found.skipped.push_back(alone(place.first, "a"));
    }
  }
  for (const auto& [place, index] : places_b) {
    if (!places_a.contains(place)) found.skipped.push_back(alone(place.first, "b"));
  }
  std::sort(found.matches.begin(), found.matches.end(),
            [](const Match& x, const Match& y) { return x.a < y.a; });
  const auto descends = [](const Match& x, const Match& y) { return x.b > y.b; };
  if (std::adjacent_find(found.matches.begin(), found.matches.end(), descends) !=
      found.matches.end()) {
    found.notes.push_back("items are matched by name; b has them in another order");
  }
  return found;
}

Matching match_by_place(const DiffSide& a, const DiffSide& b) {
  Matching found;
  const std::size_t common = std::min(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < common; ++i) found.matches.push_back({i, i});
  for (std::size_t i = common; i < a.items.size(); ++i) {
    found.skipped.push_back(alone(a.items[i].key, "a"));
  }
  for (std::size_t i = common; i < b.items.size(); ++i) {
    found.skipped.push_back(alone(b.items[i].key, "b"));
  }
  if (a.has_keys != b.has_keys) {
    found.notes.push_back(std::string("items are matched by their place: ") +
                          (a.has_keys ? "b" : "a") + " has no names");
  }
  return found;
}

std::string shown(const GridThw& grid) {
  return std::to_string(grid.t) + "x" + std::to_string(grid.h) + "x" + std::to_string(grid.w);
}

std::string different(const std::string& what, const std::string& a, const std::string& b) {
  return "different " + what + ": " + a + " and " + b;
}

// Why two tensors of one item cannot be compared; empty where they can.
std::string shape_difference(const TokenRows& a, const TokenRows& b) {
  if (a.rows != b.rows) {
    const std::string counts =
        std::to_string(a.rows) + " tokens in a, " + std::to_string(b.rows) + " in b";
    return (std::min(a.rows, b.rows) == 1 ? "different pooling: " : "different token counts: ") +
           counts;
  }
  if (a.width == b.width) return "";
  const std::int64_t narrow = std::max<std::int64_t>(std::min(a.width, b.width), 1);
  const std::int64_t wide = std::max(a.width, b.width);
  return different("widths", std::to_string(a.width), std::to_string(b.width)) +
         (wide % narrow == 0 ? "; does the wider one hold deepstack levels side by side?" : "");
}

class Differ {
 public:
  Differ(const DiffSide& a, const DiffSide& b, const DiffOptions& options)
      : a_(a), b_(b), options_(options) {
    pair_.a = a.name;
    pair_.b = b.name;
    pair_.must_be_identical = options.policy.exact;
  }

  void compare(const Match& match, const std::string& name) {
    const DumpItem& a = a_.items[match.a];
    const DumpItem& b = b_.items[match.b];
    if (a.grid && b.grid && a.grid != b.grid && a.embeddings.rows == b.embeddings.rows) {
      skip(name, "", different("grids", shown(*a.grid), shown(*b.grid)));
      return;
    }
    const std::optional<GridThw> grid = a.grid ? a.grid : b.grid;
    ItemReport report;
    report.item = name;
    report.grid = grid;
    report.input_sha256 = a.input_sha256.empty() ? b.input_sha256 : a.input_sha256;
    compare(report, a.embeddings, b.embeddings);
    const std::size_t levels = std::min(a.deepstack.size(), b.deepstack.size());
    for (std::size_t level = 0; level < levels; ++level) {
      report.tensor = "deepstack." + std::to_string(level);
      compare(report, a.deepstack[level], b.deepstack[level]);
    }
    if (a.deepstack.size() != b.deepstack.size()) {
      skip(name, "deepstack",
           different("deepstack levels", std::to_string(a.deepstack.size()),
                     std::to_string(b.deepstack.size())));
    }
  }

  void skip(std::string item, std::string tensor, std::string reason,
            Verdict verdict = Verdict::not_comparable) {
    pair_.skipped.push_back({std::move(item), std::move(tensor), verdict, std::move(reason)});
  }

  PairReport& pair() { return pair_; }

 private:
  // `report` says which tensor of which item.
  void compare(ItemReport report, const TokenRows& a, const TokenRows& b) {
    const std::string reason = shape_difference(a, b);
    if (!reason.empty()) return skip(report.item, report.tensor, reason);
    if (a.rows == 0 || a.width == 0) {
      return skip(report.item, report.tensor, "no tokens", Verdict::vacuous);
    }
    report.limit = limit(a.dtype, b.dtype);
    report.comparison =
        compare_items(a, b, Scale::smaller, options_.threads, options_.policy.tolerance);
    if (report.comparison.all_zero_a && report.comparison.all_zero_b) {
      return skip(report.item, report.tensor, "all zero on both sides", Verdict::vacuous);
    }
    pair_.items.push_back(std::move(report));
  }

  // Rounding is that of the run, whatever its file holds.
  [[nodiscard]] double limit(DType a, DType b) const {
    const Policy& policy = options_.policy;
    return std::max(policy.limit(a, b), policy.limit(run_dtype(record_of(a_)).value_or(a),
                                                     run_dtype(record_of(b_)).value_or(b)));
  }

  const DiffSide& a_;
  const DiffSide& b_;
  const DiffOptions& options_;
  PairReport pair_;
};

std::vector<std::string> notes_on(const DiffSide& a, const DiffSide& b,
                                  const RecordDifferences& differences) {
  std::vector<std::string> notes;
  for (const std::string& note : a.notes) notes.push_back("a: " + note);
  for (const std::string& note : b.notes) notes.push_back("b: " + note);
  notes.insert(notes.end(), differences.choices.begin(), differences.choices.end());
  if (!a.items.empty() && !b.items.empty()) {
    const DType of_a = a.items.front().embeddings.dtype;
    const DType of_b = b.items.front().embeddings.dtype;
    if (of_a != of_b) {
      notes.push_back("stored as " + std::string(to_string(of_a)) + " and " +
                      std::string(to_string(of_b)));
    }
  }
  return notes;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

// The first reason, and how many more there are.
std::string reason_of(const std::vector<SkippedItem>& skipped, Verdict verdict) {
  std::string reason;
  std::size_t more = 0;
  for (const SkippedItem& item : skipped) {
    if (item.verdict != verdict) continue;
    if (!reason.empty()) {
      ++more;
      continue;
    }
    reason = item.item + (item.tensor.empty() ? "" : ", " + item.tensor) + ": " + item.reason;
  }
  return more == 0 ? reason : reason + " (and " + std::to_string(more) + " more)";
}

std::string item_name(const DiffSide& a, const DiffSide& b, const Match& match) {
  return a.has_keys || !b.has_keys ? a.items[match.a].key : b.items[match.b].key;
}

Comparison concluded(PairReport pair) {
  pair.verdict = verdict_of(pair);
  if (pair.verdict == Verdict::not_comparable || pair.verdict == Verdict::vacuous) {
    pair.reason = reason_of(pair.skipped, pair.verdict);
  }
  if (pair.items.empty()) {
    if (pair.verdict == Verdict::vacuous) return Vacuous{pair.reason, pair.skipped, pair.notes};
    return NotComparable{pair.reason, pair.skipped, pair.notes};
  }
  pair.identical = pair.skipped.empty() &&
                   std::all_of(pair.items.begin(), pair.items.end(),
                               [](const ItemReport& item) { return item.comparison.identical; });
  return Compared{std::move(pair)};
}

}  // namespace

Comparison diff_items(const DiffSide& a, const DiffSide& b, const DiffOptions& options) {
  const RecordDifferences differences = record_differences(record_of(a), record_of(b));
  std::vector<std::string> notes = notes_on(a, b, differences);
  std::vector<std::string> reasons = differences.contradictions;
  if (a.stage != b.stage) reasons.push_back(different("stages", a.stage, b.stage));
  if (!reasons.empty()) return NotComparable{joined(reasons), {}, std::move(notes)};
  for (const auto& [side, name] : {std::pair{&a, "a"}, {&b, "b"}}) {
    if (side->items.empty()) return Vacuous{std::string(name) + " has no items", {}, notes};
  }

  const bool by_key = a.has_keys && b.has_keys;
  Matching matching = by_key ? match_by_key(a, b) : match_by_place(a, b);
  notes.insert(notes.end(), matching.notes.begin(), matching.notes.end());
  if (matching.matches.empty()) {
    return NotComparable{"no item of a has the name of one of b: " + a.items.front().key + " and " +
                             b.items.front().key,
                         std::move(matching.skipped), std::move(notes)};
  }
  Differ differ(a, b, options);
  for (const Match& match : matching.matches) {
    const std::string name = item_name(a, b, match);
    const std::string inputs = input_difference(input_of(a, match.a), input_of(b, match.b));
    if (!inputs.empty()) notes.push_back(name + ": " + inputs);
    differ.compare(match, name);
  }
  PairReport& pair = differ.pair();
  pair.skipped.insert(pair.skipped.end(), matching.skipped.begin(), matching.skipped.end());
  pair.notes = std::move(notes);
  return concluded(std::move(pair));
}

PairReport to_report(Comparison comparison, const std::string& a, const std::string& b) {
  PairReport pair;
  if (auto* compared = std::get_if<Compared>(&comparison)) {
    pair = std::move(compared->pair);
  } else {
    const auto fill = [&pair](auto& from, Verdict verdict) {
      pair.verdict = verdict;
      pair.reason = std::move(from.reason);
      pair.skipped = std::move(from.skipped);
      pair.notes = std::move(from.notes);
    };
    if (auto* none = std::get_if<NotComparable>(&comparison)) {
      fill(*none, Verdict::not_comparable);
    } else {
      fill(std::get<Vacuous>(comparison), Verdict::vacuous);
    }
  }
  pair.a = a;
  pair.b = b;
  return pair;
}

}  // namespace vtower
