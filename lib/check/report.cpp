#include "check/report.h"

#include <algorithm>

#include "check/refuse_fast_math.h"

namespace vtower {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::agree: return "agree";
    case Verdict::differ: return "differ";
    case Verdict::not_comparable: return "not_comparable";
    case Verdict::vacuous: return "vacuous";
  }
  return "unknown";
}

std::int64_t ItemReport::tokens_beyond() const noexcept {
  // Errors are kept as float32; the worst one is known better.
  const auto beyond =
      std::count_if(comparison.errors.begin(), comparison.errors.end(),
                    [most = static_cast<float>(limit)](float error) { return !(error <= most); });
  return beyond == 0 && !comparison.within(limit) ? 1 : beyond;
}

Verdict verdict_of(const PairReport& pair) {
  for (const ItemReport& item : pair.items) {
    if (!item.passes()) return Verdict::differ;
    if (pair.must_be_identical && !item.comparison.identical) return Verdict::differ;
  }
  for (const Verdict verdict : {Verdict::not_comparable, Verdict::vacuous}) {
    for (const SkippedItem& item : pair.skipped) {
      if (item.verdict == verdict) return verdict;
    }
  }
  return pair.items.empty() ? Verdict::vacuous : Verdict::agree;
}

std::optional<double> smallest_k_of(const std::vector<ItemReport>& items) {
  std::optional<double> smallest;
  for (const ItemReport& item : items) {
    if (!item.floor) continue;
    const double needed = token_error(item.comparison.worst_error, *item.floor);
    const bool is_number = needed < std::numeric_limits<double>::infinity();
    smallest = std::max(smallest.value_or(0),
                        is_number ? needed : std::numeric_limits<double>::infinity());
  }
  return smallest;
}

}  // namespace vtower
