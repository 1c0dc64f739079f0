// Faults of where tokens end up: right values in wrong places.
#include <ATen/ops/cat.h>
#include <ATen/ops/roll.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "explain/fault.h"

namespace vtower::explain {
namespace {

using Order = std::vector<std::size_t>;

Fault moved(const std::string& id, const std::string& variant, const std::string& sentence,
            std::function<at::Tensor(const at::Tensor&)> move) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.needs_batch = true;
  fault.output = [move = std::move(move)](const Tensors& tensors) {
    Tensors result;
    for (const at::Tensor& tensor : tensors) result.push_back(move(tensor).contiguous());
    return result;
  };
  return fault;
}

std::vector<std::int64_t> token_counts(const Setting& setting) {
  std::vector<std::int64_t> counts;
  for (const GridThw& grid : setting.grids) {
    counts.push_back(grid.tokens(setting.config.layout.merge_size));
  }
  return counts;
}

// Each item's tokens changed by `change(tokens, item)`.
std::function<at::Tensor(const at::Tensor&)> item_by_item(
    std::vector<std::int64_t> counts,
    std::function<at::Tensor(const at::Tensor&, std::size_t)> change) {
  return [counts = std::move(counts), change = std::move(change)](const at::Tensor& tokens) {
    std::vector<at::Tensor> parts;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      parts.push_back(change(tokens.narrow(0, first, counts[i]), i));
      first += counts[i];
    }
    return at::cat(parts);
  };
}

at::Tensor in_order(const at::Tensor& tokens, const std::vector<std::int64_t>& counts,
                    const Order& order) {
  std::vector<std::int64_t> firsts(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), firsts.begin(), std::int64_t{0});
  std::vector<at::Tensor> parts;
  for (const std::size_t i : order) parts.push_back(tokens.narrow(0, firsts[i], counts[i]));
  return at::cat(parts);
}

void add_item_orders(std::vector<Fault>& faults, const std::vector<std::int64_t>& counts) {
  constexpr std::size_t most_items = 12;  // of which every pair is tried
  Order sound(counts.size());
  std::iota(sound.begin(), sound.end(), 0);
  std::vector<Order> known{sound};
  const auto add = [&](const std::string& variant, const std::string& sentence,
                       const Order& order) {
    if (std::find(known.begin(), known.end(), order) != known.end()) return;
    known.push_back(order);
    faults.push_back(moved("items_swapped", variant, sentence, [counts, order](const auto& tokens) {
      return in_order(tokens, counts, order);
    }));
  };
  for (std::size_t a = 0; a < counts.size() && counts.size() <= most_items; ++a) {
    for (std::size_t b = a + 1; b < counts.size(); ++b) {
      Order order = sound;
      std::swap(order[a], order[b]);
      add(std::to_string(a) + "-" + std::to_string(b),
          "the tokens of items " + std::to_string(a) + " and " + std::to_string(b) +
              " are exchanged",
          order);
    }
  }
  add("reversed", "items came back in reverse order", Order(sound.rbegin(), sound.rend()));
  Order order = sound;
  const auto smaller = [&](std::size_t a, std::size_t b) { return counts[a] < counts[b]; };
  const auto larger = [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; };
  std::stable_sort(order.begin(), order.end(), larger);
  add("largest-first", "items came back in order of size, the largest first", order);
  std::stable_sort(order.begin(), order.end(), smaller);
  add("smallest-first", "items came back in order of size, the smallest first", order);
  for (std::size_t ranks = 2; ranks <= 8 && ranks < counts.size(); ++ranks) {
    order.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = rank; i < counts.size(); i += ranks) order.push_back(i);
    }
    add("by-rank-" + std::to_string(ranks),
        "items came back rank by rank of " + std::to_string(ranks) + ", not in request order",
        order);
  }
}

void add_stale_rows(std::vector<Fault>& faults, const std::vector<std::int64_t>& counts) {
  // The tail of an item was left as the replay before wrote it: another item's rows in its place.
  for (std::size_t before = 0; before < counts.size(); ++before) {
    for (std::size_t item = 0; item < counts.size(); ++item) {
      if (before == item || counts.size() > 8) continue;
      for (const std::int64_t share : {1, 2, 4, 8}) {
        const std::int64_t tail = counts[item] / share;
        const std::int64_t first = counts[item] - tail;
        if (tail == 0 || counts[before] < counts[item]) continue;
        faults.push_back(
            moved("rows_stale",
                  std::to_string(item) + "-from-" + std::to_string(before) + "-last-" +
                      std::to_string(tail),
                  "the last " + std::to_string(tail) + " tokens of item " + std::to_string(item) +
                      " are those of another item: rows of an earlier replay",
                  [=](const at::Tensor& tokens) {
                    at::Tensor stale = tokens.clone();
                    const auto start = [&](std::size_t i) {
                      return std::accumulate(counts.begin(),
                                             counts.begin() + static_cast<std::ptrdiff_t>(i),
                                             std::int64_t{0});
                    };
                    stale.narrow(0, start(item) + first, tail)
                        .copy_(tokens.narrow(0, start(before) + first, tail));
                    return stale;
                  }));
      }
    }
  }
}

// The tail of every item was never written.
void add_unwritten_rows(std::vector<Fault>& faults, const std::vector<std::int64_t>& counts) {
  for (const std::int64_t share : {2, 4, 8}) {
    faults.push_back(moved("rows_stale", "zero-last-" + std::to_string(share) + "th",
                           "the last rows of each item were never written",
                           item_by_item(counts, [share](const at::Tensor& tokens, std::size_t) {
                             at::Tensor cut = tokens.clone();
                             const std::int64_t tail = tokens.size(0) / share;
                             cut.narrow(0, tokens.size(0) - tail, tail).zero_();
                             return cut;
                           })));
  }
}

}  // namespace

std::vector<Fault> output_faults(const Setting& setting) {
  const std::vector<std::int64_t> counts = token_counts(setting);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<Fault> faults;
  for (const std::int64_t by : {1, -1, 2, -2, 3, -3, 4, -4}) {
    if (total <= std::abs(by)) continue;
    const std::string text = std::to_string(by);
    faults.push_back(moved("rows_shifted", text, "tokens are shifted by " + text + " rows",
                           [=](const at::Tensor& tokens) { return at::roll(tokens, by, 0); }));
    if (counts.size() == 1) continue;
    faults.push_back(moved("rows_shifted", text + "-in-items",
                           "tokens are shifted by " + text + " rows within each item",
                           item_by_item(counts, [=](const at::Tensor& tokens, std::size_t) {
                             return at::roll(tokens, by, 0);
                           })));
  }
  add_item_orders(faults, counts);
  add_stale_rows(faults, counts);
  faults.push_back(moved("layout_transposed", "",
                         "each item's values were read column by column: a result that was not "
                         "contiguous",
                         item_by_item(counts, [](const at::Tensor& tokens, std::size_t) {
                           return tokens.t().contiguous().view_as(tokens);
                         })));
  add_unwritten_rows(faults, counts);
  const bool clips = std::any_of(setting.grids.begin(), setting.grids.end(),
                                 [](const GridThw& grid) { return grid.t > 1; });
  for (const std::int64_t by : {1, -1}) {
    if (!clips) continue;
    std::vector<GridThw> grids(setting.grids.begin(), setting.grids.end());
    faults.push_back(moved("frames_shifted", by == 1 ? "tokens" : "tokens-back",
                           std::string("the tokens of each temporal group are those of the one ") +
                               (by == 1 ? "before" : "after"),
                           item_by_item(counts, [=](const at::Tensor& tokens, std::size_t item) {
                             return at::roll(tokens, by * tokens.size(0) / grids[item].t, 0);
                           })));
  }
  const std::size_t levels = setting.config.deepstack_blocks.size();
  if (levels > 1) {
    Fault fault;
    fault.id = "deepstack_order";
    fault.variant = "outputs";
    fault.sentence = "the deepstack levels came back in reverse order";
    fault.output = [](const Tensors& tensors) {
      Tensors turned = tensors;
      std::reverse(turned.begin() + 1, turned.end());
      return turned;
    };
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace vtower::explain
