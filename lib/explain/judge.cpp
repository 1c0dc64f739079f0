#include "explain/judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "explain/distance.h"

namespace vtower::explain {
namespace {

std::string tensor_name(std::size_t i) {
  return i == 0 ? "embeddings" : "deepstack." + std::to_string(i - 1);
}

// NaN counts as most.
bool worse(double a, double b) {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

void judge_item(PairReport& report, const std::string& name, const GridThw& grid,
                const ItemRows& rows, const Tensors& truth, const std::vector<double>& floor,
                const JudgeOptions& options) {
  for (std::size_t i = 0; i < rows.size() && i < truth.size(); ++i) {
    const TokenRows expected = rows_of(truth[i]);
    if (rows[i].rows != expected.rows || rows[i].width != expected.width) {
      report.skipped.push_back({name, tensor_name(i), Verdict::not_comparable,
                                "is [" + std::to_string(rows[i].rows) + ", " +
                                    std::to_string(rows[i].width) + "], the tower makes [" +
                                    std::to_string(expected.rows) + ", " +
                                    std::to_string(expected.width) + "]"});
      continue;
    }
    ItemReport item;
    item.item = name;
    item.tensor = tensor_name(i);
    item.grid = grid;
    item.comparison = compare_items(rows[i], expected, Scale::reference, options.threads,
                                    options.policy.tolerance);
    item.floor = floor[i];
    item.limit = options.policy.k * floor[i];
    report.items.push_back(std::move(item));
  }
}

void conclude(PairReport& report) {
  report.smallest_k = smallest_k_of(report.items);
  report.verdict = verdict_of(report);
  if (report.verdict == Verdict::not_comparable) {
    const SkippedItem& first = report.skipped.front();
    report.reason =
        first.item + (first.tensor.empty() ? "" : " " + first.tensor) + ": " + first.reason;
  }
  if (report.verdict == Verdict::vacuous) {
    report.reason = "nothing was compared: none of the items is in " + report.a;
  }
}

}  // namespace

std::vector<PairReport> judge(const Yardstick& yardstick, const JudgedItems& items,
                              const std::vector<Side>& sides, const JudgeOptions& options) {
  std::vector<PairReport> reports(sides.size());
  for (std::size_t s = 0; s < sides.size(); ++s) {
    reports[s].a = sides[s].name;
    reports[s].b = "oracle";
  }
  const std::size_t count = items.names.size();
  std::optional<RawPatches> before;  // the neighbour of the packed run
  for (std::size_t i = 0; i < count; ++i) {
    RawPatches patches = items.load(i);
    if (!before) before.emplace(count > 1 ? items.load(count - 1) : items.load(i));
    const ItemYardstick measured = yardstick.measure(patches, *before, options.threads);
    const GridThw grid = patches.grids().front();
    for (std::size_t s = 0; s < sides.size(); ++s) {
      const ItemRows rows = sides[s].rows(i);
      if (rows.empty()) {
        reports[s].skipped.push_back(
            {items.names[i], "", Verdict::not_comparable, sides[s].name + " does not have it"});
        continue;
      }
      judge_item(reports[s], items.names[i], grid, rows, measured.truth,
                 measured.floor[sides[s].placement], options);
    }
    before.emplace(std::move(patches));
    if (options.on_progress) options.on_progress(i + 1, count);
  }
  for (PairReport& report : reports) conclude(report);
  return reports;
}

std::vector<std::size_t> failing_items(const PairReport& report,
                                       const std::vector<std::string>& names) {
  std::vector<std::pair<double, std::size_t>> failing;
  for (std::size_t i = 0; i < names.size(); ++i) {
    double worst = 0;
    bool fails = false;
    for (const ItemReport& item : report.items) {
      if (item.item != names[i] || item.passes()) continue;
      fails = true;
      if (worse(item.used(), worst)) worst = item.used();
    }
    if (fails) failing.emplace_back(worst, i);
  }
  std::stable_sort(failing.begin(), failing.end(),
                   [](const auto& a, const auto& b) { return worse(a.first, b.first); });
  std::vector<std::size_t> items;
  for (const auto& [used, item] : failing) items.push_back(item);
  return items;
}

}  // namespace vtower::explain
