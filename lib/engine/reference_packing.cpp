#include "engine/reference_packing.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.h"

namespace vtower {
namespace {

std::vector<std::int64_t> doubling(std::int64_t smallest, std::int64_t largest) {
  std::vector<std::int64_t> budgets;
  for (std::int64_t budget = smallest; budget <= largest; budget *= 2) budgets.push_back(budget);
  if (budgets.empty() || budgets.back() < largest) budgets.push_back(largest);
  return budgets;
}

std::optional<std::int64_t> smallest_for(std::int64_t tokens, const ReferenceBudgets& budgets) {
  const auto found = std::lower_bound(budgets.tokens.begin(), budgets.tokens.end(), tokens);
  return found == budgets.tokens.end() ? std::nullopt : std::optional(*found);
}

// Whether two graphs of small budgets are less than one of a large budget.
bool better_apart(std::int64_t open_tokens, std::int64_t item, const ReferenceBudgets& budgets) {
  const auto open = smallest_for(open_tokens, budgets);
  const auto alone = smallest_for(item, budgets);
  const auto together = smallest_for(open_tokens + item, budgets);
  return open && alone && together && *open + *alone < *together && *alone >= *open;
}

}  // namespace

ReferenceBudgets reference_budgets(const ReferenceBudgetRequest& request) {
  const auto range = std::to_string(request.smallest) + " to " + std::to_string(request.largest);
  if (request.smallest <= 0 || request.largest <= 0 || request.smallest > request.largest) {
    throw Error(ErrorKind::usage, "reference_packing",
                "budgets of " + range + " tokens: expected a rising range of positive numbers");
  }
  ReferenceBudgets budgets{request.user_budgets, request.user_items.value_or(0), 0};
  std::sort(budgets.tokens.begin(), budgets.tokens.end());
  if (budgets.tokens.empty()) {
    budgets.tokens = doubling(std::max(request.smallest, budgets.max_items), request.largest);
  } else if (budgets.max_items > budgets.tokens.front()) {
    throw Error(ErrorKind::usage, "reference_packing",
                std::to_string(budgets.max_items) + " items in a budget of " +
                    std::to_string(budgets.tokens.front()) + " tokens: expected a token each");
  }
  if (!request.user_items) {
    budgets.max_items = std::min(request.largest / request.smallest, budgets.tokens.front());
  }
  if (request.videos_per_prompt > 0) {
    budgets.max_frames = request.user_frames.value_or(budgets.max_items * request.frames_per_video);
  }
  return budgets;
}

std::vector<ReferenceBatch> pack_as_reference(std::span<const std::int64_t> tokens,
                                              const ReferenceBudgets& budgets) {
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tokens[a] < tokens[b]; });
  std::vector<ReferenceBatch> batches;
  for (const std::size_t item : order) {
    const bool full = batches.empty() ||
                      static_cast<std::int64_t>(batches.back().items.size()) >= budgets.max_items ||
                      batches.back().tokens + tokens[item] > budgets.tokens.back() ||
                      better_apart(batches.back().tokens, tokens[item], budgets);
    if (full) batches.emplace_back();
    batches.back().items.push_back(item);
    batches.back().tokens += tokens[item];
  }
  for (ReferenceBatch& batch : batches) batch.budget = smallest_for(batch.tokens, budgets);
  return batches;
}

}  // namespace vtower
