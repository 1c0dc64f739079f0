#include "check/algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "check/item_comparison.h"
#include "check/refuse_fast_math.h"
#include "check/row_match.h"
#include "check/value_map.h"

namespace vtower {
namespace {

constexpr std::size_t most_exchanged = 512;   // items among which an exchange is looked for
constexpr std::size_t most_single_maps = 64;  // items that are given a map of their own

bool same_shape(const TokenRows& a, const TokenRows& b) {
  return a.rows == b.rows && a.width == b.width;
}

// "item x", "items x and y", "items x, y, z and 4 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  if (names.size() == 1) return "item " + names[0];
  std::string text = "items " + names[0];
  const std::size_t shown = std::min(names.size(), most);
  for (std::size_t i = 1; i < shown; ++i) {
    text += (i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

class Search {
 public:
  Search(std::span<const AlgebraItem> items, const AlgebraOptions& options)
      : items_(items), options_(options) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const AlgebraItem& item = items[i];
      if (!same_shape(item.a, item.b)) {
        open_.push_back({i, std::numeric_limits<double>::infinity(), std::nullopt});
        continue;
      }
      if (item.a.rows == 0 || item.a.width == 0) continue;
      ItemComparison found = compare(item.a, item.b);
      if (!found.within(options.limit)) open_.push_back({i, found.worst_error, std::move(found)});
    }
  }

  std::vector<AlgebraFinding> run() {
    broken_rows();
    exchanged_items();
    rows_across_items();
    reordered_rows();
    mapped_values();
    return std::move(findings_);
  }

 private:
  // An item beyond the limit that nothing explains so far.
  struct Open {
    std::size_t index = 0;
    double mismatch = 0;
    std::optional<ItemComparison> comparison;  // where both sides have one shape
  };

  struct Explanation {
    std::string words;
    double residual = 0;
    std::int64_t moved = 0;  // rows, where their number is to be said
  };

  // Items that one sentence explains.
  struct Group {
    std::vector<std::string> names;
    double residual = 0;
    std::int64_t moved = 0;
  };
  using Groups = std::map<std::string, Group>;

  ItemComparison compare(const TokenRows& a, const TokenRows& b) const {
    return compare_items(a, b, Scale::smaller, options_.threads);
  }

  // Within the limit, and at most half of what was there.
  [[nodiscard]] double most_left(double mismatch) const {
    return std::isfinite(mismatch) ? std::min(options_.limit, mismatch / 2) : options_.limit;
  }

  // Takes the items out of `open_` that `explain` explains, one group for each wording.
  template <typename Explain>
  Groups explained(Explain explain) {
    Groups groups;
    std::vector<Open> left;
    for (Open& open : open_) {
      const std::optional<Explanation> found = explain(open);
      if (!found) {
        left.push_back(std::move(open));
        continue;
      }
      Group& group = groups[found->words];
      group.names.push_back(items_[open.index].name);
      group.residual = std::max(group.residual, found->residual);
      group.moved += found->moved;
    }
    open_ = std::move(left);
    return groups;
  }

  void report(const Groups& groups, const std::string& before, const std::string& between) {
    for (const auto& [words, group] : groups) {
      findings_.push_back({before + listed(group.names) + between + with_count(words, group.moved),
                           group.residual});
    }
  }

  static std::string with_count(const std::string& words, std::int64_t moved) {
    return moved == 0 ? words : words + " (" + std::to_string(moved) + " rows)";
  }

  // Rows of one side that are all zero or hold a value that is not finite, in one run; the others
  // are within the limit.
  void broken_rows() {
    report(explained([&](const Open& open) { return broken_run(open); }), "", ": ");
  }

  std::optional<Explanation> broken_run(const Open& open) const {
    if (!open.comparison) return std::nullopt;
    const std::vector<float>& errors = open.comparison->errors;
    std::int64_t first = -1;
    std::int64_t last = -1;
    double residual = 0;
    for (std::int64_t row = 0; row < std::ssize(errors); ++row) {
      const float error = errors[static_cast<std::size_t>(row)];
      if (error <= static_cast<float>(options_.limit)) {
        residual = std::max<double>(residual, error);
        continue;
      }
      if (first >= 0 && last + 1 != row) return std::nullopt;
      if (first < 0) first = row;
      last = row;
    }
    if (first < 0) return std::nullopt;
    const AlgebraItem& item = items_[open.index];
    for (const auto& [rows, side] : {std::pair{&item.a, "a"}, {&item.b, "b"}}) {
      const std::string what = broken_alike(rows->slice(first, last + 1 - first));
      if (what.empty()) continue;
      return Explanation{range_words(first, last, item.a.rows) + what + " in " + side, residual, 0};
    }
    return std::nullopt;
  }

  static std::string range_words(std::int64_t first, std::int64_t last, std::int64_t rows) {
    if (first == 0 && last + 1 == rows) return "all rows ";
    if (first == last) return "row " + std::to_string(first) + " ";
    if (last + 1 == rows) return "rows from " + std::to_string(first) + " on ";
    return "rows " + std::to_string(first) + " to " + std::to_string(last) + " ";
  }

  // "zero" or "not finite" where each of the rows is; empty otherwise.
  static std::string broken_alike(const TokenRows& rows) {
    bool zero = true;
    bool not_finite = true;
    std::vector<double> values(static_cast<std::size_t>(rows.width));
    for (std::int64_t row = 0; row < rows.rows && (zero || not_finite); ++row) {
      widen(rows, row, 0, values);
      zero = zero && std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
      not_finite = not_finite && std::any_of(values.begin(), values.end(),
                                             [](double v) { return !std::isfinite(v); });
    }
    return zero ? "zero" : not_finite ? "not finite" : "";
  }

  // Whether b of item `at` holds what a of item `of` does.
  std::optional<double> holds(std::size_t at, std::size_t of) const {
    const TokenRows& a = items_[of].a;
    const TokenRows& b = items_[at].b;
    if (!same_shape(a, b) || a.rows == 0 || a.width == 0) return std::nullopt;
    const auto near = [&](const TokenRows& x, const TokenRows& y, double limit) {
      const ItemComparison found = compare(x, y);
      return found.within(limit) ? std::optional<double>(found.worst_error) : std::nullopt;
    };
    // One row alone has a median of its own.
    if (!near(a.slice(0, 1), b.slice(0, 1), 4 * options_.limit)) return std::nullopt;
    return near(a, b, options_.limit);
  }

  void exchanged_items() {
    if (open_.size() < 2 || open_.size() > most_exchanged) return;
    std::map<std::size_t, std::pair<std::size_t, double>> source;  // place in b: item of a
    std::vector<bool> taken(items_.size());
    for (const Open& at : open_) {
      for (const Open& of : open_) {
        if (at.index == of.index || taken[of.index]) continue;
        const std::optional<double> error = holds(at.index, of.index);
        if (!error || !(*error <= most_left(at.mismatch))) continue;
        source[at.index] = {of.index, *error};
        taken[of.index] = true;
        break;
      }
    }
    while (!source.empty()) {
      std::vector<std::string> places;
      std::vector<std::string> contents;
      std::vector<std::size_t> members;
      double residual = 0;
      const std::size_t start = source.begin()->first;
      std::size_t at = start;
      bool closed = false;
      for (auto found = source.find(at); found != source.end(); found = source.find(at)) {
        const auto [of, error] = found->second;
        members.push_back(at);
        places.push_back(items_[at].name);
        contents.push_back(items_[of].name);
        residual = std::max(residual, error);
        source.erase(found);
        at = of;
        closed = at == start;
      }
      if (!closed) continue;
      const std::string sentence = members.size() == 2
                                       ? listed(places) + " exchanged"
                                       : listed(places) + " in another order: b has " +
                                             listed(contents).substr(6) + " there";
      findings_.push_back({sentence, residual});
      std::erase_if(open_, [&](const Open& open) {
        return std::find(members.begin(), members.end(), open.index) != members.end();
      });
    }
  }

  void reordered_rows() {
    report(explained([&](const Open& open) -> std::optional<Explanation> {
             const AlgebraItem& item = items_[open.index];
             const auto match =
                 match_rows(std::span(&item.a, 1), std::span(&item.b, 1), most_left(open.mismatch));
             if (!match) return std::nullopt;
             const auto order = describe_order(*match, item.a.rows);
             if (!order) return std::nullopt;
             return Explanation{order->words, match->residual, order->moved};
           }),
           "rows of ", " ");
  }

  // Rows that went to other items: their boundaries do not belong to their order.
  void rows_across_items() {
    if (open_.size() < 2) return;
    std::vector<TokenRows> a;
    std::vector<TokenRows> b;
    std::vector<std::string> names;
    double mismatch = std::numeric_limits<double>::infinity();
    for (const Open& open : open_) {
      const AlgebraItem& item = items_[open.index];
      if (item.a.width != items_[open_.front().index].a.width || item.b.width != item.a.width)
        return;
      a.push_back(item.a);
      b.push_back(item.b);
      names.push_back(item.name);
      mismatch = std::min(mismatch, open.mismatch);
    }
    const auto match = match_rows(a, b, most_left(mismatch));
    if (!match) return;
    std::int64_t rows_of_a = 0;
    for (const TokenRows& rows : a) rows_of_a += rows.rows;
    const bool complete = static_cast<std::int64_t>(match->source.size()) == rows_of_a &&
                          std::all_of(match->source.begin(), match->source.end(),
                                      [](const auto& row) { return row.has_value(); });
    if (!complete || !crosses(match->source, a, b)) return;
    const std::string order = order_of_parts(match->source, a, names);
    std::string words = "one after another in the order " + order;
    if (order.empty()) {
      const RowOrder found = describe_order(*match, rows_of_a).value_or(RowOrder{});
      words = with_count(found.words, found.moved);
    }
    findings_.push_back(
        {"rows of " + listed(names) + " taken together: " + words, match->residual});
    open_.clear();
  }

  // Whether a row of b comes from another item of a.
  static bool crosses(const std::vector<std::optional<std::int64_t>>& source,
                      const std::vector<TokenRows>& a, const std::vector<TokenRows>& b) {
    std::int64_t first_a = 0;
    std::size_t row = 0;
    for (std::size_t part = 0; part < a.size(); ++part) {
      for (std::int64_t i = 0; i < b[part].rows; ++i, ++row) {
        if (*source[row] < first_a || *source[row] >= first_a + a[part].rows) return true;
      }
      first_a += a[part].rows;
    }
    return false;
  }

  // "y, x" where b holds the whole items of a one after another; empty otherwise.
  static std::string order_of_parts(const std::vector<std::optional<std::int64_t>>& source,
                                    const std::vector<TokenRows>& parts,
                                    const std::vector<std::string>& names) {
    std::map<std::int64_t, std::size_t> starts;
    std::int64_t start = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].rows > 0) starts[start] = i;
      start += parts[i].rows;
    }
    std::string order;
    for (std::size_t row = 0; row < source.size();) {
      const auto part = starts.find(*source[row]);
      if (part == starts.end()) return "";
      const std::int64_t rows = parts[part->second].rows;
      for (std::int64_t i = 0; i < rows; ++i, ++row) {
        if (row >= source.size() || *source[row] != part->first + i) return "";
      }
      order += (order.empty() ? "" : ", ") + names[part->second];
    }
    return order;
  }

  std::optional<ValueMap> map_of(const std::vector<Open>& opens) const {
    std::vector<RowsPair> pairs;
    double mismatch = std::numeric_limits<double>::infinity();
    for (const Open& open : opens) {
      const AlgebraItem& item = items_[open.index];
      if (!open.comparison || item.a.width != items_[opens.front().index].a.width) return {};
      if (std::isnan(open.mismatch)) return {};
      pairs.push_back({item.a, item.b});
      mismatch = std::min(mismatch, open.mismatch);
    }
    return pairs.empty() ? std::nullopt : find_value_map(pairs, most_left(mismatch));
  }

  void mapped_values() {
    if (const std::optional<ValueMap> map = map_of(open_)) {
      std::vector<std::string> names;
      for (const Open& open : open_) names.push_back(items_[open.index].name);
      const bool everywhere = names.size() == items_.size();
      findings_.push_back(
          {map->sentence + (everywhere ? "" : " in " + listed(names)), map->residual});
      open_.clear();
      return;
    }
    if (open_.size() < 2 || open_.size() > most_single_maps) return;
    const Groups groups = explained([&](const Open& open) -> std::optional<Explanation> {
      const std::optional<ValueMap> map = map_of({open});
      if (!map) return std::nullopt;
      return Explanation{map->sentence, map->residual, 0};
    });
    for (const auto& [words, group] : groups) {
      findings_.push_back({words + " in " + listed(group.names), group.residual});
    }
  }

  std::span<const AlgebraItem> items_;
  const AlgebraOptions& options_;
  std::vector<Open> open_;
  std::vector<AlgebraFinding> findings_;
};

}  // namespace

std::vector<AlgebraFinding> find_algebra(std::span<const AlgebraItem> items,
                                         const AlgebraOptions& options) {
  return Search(items, options).run();
}

}  // namespace vtower
