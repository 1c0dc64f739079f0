#include "cli/plain_diff.h"

#include "check/algebra.h"
#include "check/diff_items.h"
#include "check/place.h"

namespace vtower::cli {
namespace {

// What turns A into B, of the items that are beyond the limit.
void add_algebra(Report& report, const Dump& a, const Dump& b, const Policy& policy, int threads) {
  const bool keys = a.has_keys() && b.has_keys();
  std::vector<AlgebraItem> items;
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    const DumpItem& left = a.items()[i];
    const DumpItem* right = keys                   ? b.find(left.key)
                            : i < b.items().size() ? &b.items()[i]
                                                   : nullptr;
    if (right == nullptr || right->embeddings.width != left.embeddings.width) continue;
    items.push_back({left.key, left.embeddings, right->embeddings});
  }
  const AlgebraOptions options{policy.limit(a.dtype(), b.dtype()), threads};
  for (const AlgebraFinding& finding : find_algebra(items, options)) {
    report.algebra.push_back(finding.sentence);
  }
}

}  // namespace

OpenedDumps open_dumps(const std::string& a, const std::string& b, const DumpOptions& options) {
  return {std::make_shared<const Dump>(Dump::open(a, options)),
          std::make_shared<const Dump>(Dump::open(b, options))};
}

Report plain_diff(const OpenedDumps& dumps, const Policy& policy, int threads) {
  const Dump& a = *dumps.a;
  const Dump& b = *dumps.b;
  Report report;
  report.command = "diff";
  report.policy = policy.to_json();
  report.pairs.push_back(
      to_report(diff_items(a, b, {policy, threads}), a.path().string(), b.path().string()));
  const Verdict verdict = report.pairs.front().verdict;
  if (verdict == Verdict::differ || verdict == Verdict::not_comparable) {
    add_algebra(report, a, b, policy, threads);
  }
  report.worst = worst_of(report.pairs, {}, {});
  return report;
}

}  // namespace vtower::cli
