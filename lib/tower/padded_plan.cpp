#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.h"
#include "tower/seq_plan.h"

namespace vtower {
namespace {

std::int64_t window_rows(const VisionConfig& config) {
  const std::int64_t side = config.window_tokens() * config.layout.merge_size;
  return side * side;
}

// Sequences of at most `longest` rows over the padding, then empty ones.
void pad_offsets(std::vector<std::int32_t>& cu_seqlens, std::int64_t rows, std::int64_t longest,
                 std::int64_t sequences) {
  while (cu_seqlens.back() < rows) {
    const std::int64_t next = std::min<std::int64_t>(cu_seqlens.back() + longest, rows);
    cu_seqlens.push_back(static_cast<std::int32_t>(next));
  }
  cu_seqlens.resize(static_cast<std::size_t>(sequences) + 1, static_cast<std::int32_t>(rows));
}

std::int64_t sequences_of(const std::vector<std::int32_t>& cu_seqlens) {
  return static_cast<std::int64_t>(cu_seqlens.size()) - 1;
}

// Corner-major values with `count` zeros after each corner's rows.
template <typename Value>
std::vector<Value> pad_corners(const std::vector<Value>& values, std::int64_t rows,
                               std::int64_t padded_rows) {
  std::vector<Value> padded(static_cast<std::size_t>(4 * padded_rows));
  for (std::int64_t corner = 0; corner < 4; ++corner) {
    std::copy_n(values.begin() + corner * rows, rows, padded.begin() + corner * padded_rows);
  }
  return padded;
}

}  // namespace

PlanCapacity needed_capacity(const VisionConfig& config, const SeqPlan& plan, std::int64_t rows) {
  PlanCapacity needed{rows, sequences_of(plan.frame_cu_seqlens), 0};
  const std::int64_t padding = rows - plan.rows;
  if (padding > 0) ++needed.frame_sequences;
  if (!plan.window_cu_seqlens.empty()) {
    const std::int64_t longest = window_rows(config);
    needed.window_sequences =
        sequences_of(plan.window_cu_seqlens) + (padding + longest - 1) / longest;
  }
  return needed;
}

SeqPlan pad_seq_plan(const VisionConfig& config, SeqPlan plan, const PlanCapacity& capacity) {
  const std::int64_t rows = capacity.rows;
  const PlanCapacity needed = needed_capacity(config, plan, rows);
  const std::int64_t group = config.layout.merge_size * config.layout.merge_size;
  if (rows < plan.rows || rows % group != 0 || needed.frame_sequences > capacity.frame_sequences ||
      needed.window_sequences > capacity.window_sequences) {
    throw Error(ErrorKind::out_of_range, "seq_plan",
                std::to_string(plan.rows) + " rows in " + std::to_string(needed.frame_sequences) +
                    " sequences do not fit a capacity of " + std::to_string(rows) + " rows in " +
                    std::to_string(capacity.frame_sequences));
  }
  pad_offsets(plan.frame_cu_seqlens, rows, rows, capacity.frame_sequences);
  if (!plan.window_cu_seqlens.empty()) {
    pad_offsets(plan.window_cu_seqlens, rows, window_rows(config), capacity.window_sequences);
    const auto tokens = static_cast<std::size_t>(rows / group);
    for (std::vector<std::int64_t>* order : {&plan.window_order, &plan.window_inverse}) {
      const std::size_t first = order->size();
      order->resize(tokens);
      std::iota(order->begin() + static_cast<std::ptrdiff_t>(first), order->end(),
                static_cast<std::int64_t>(first));
    }
  }
  plan.rope_positions.resize(static_cast<std::size_t>(2 * rows));
  if (!plan.position_taps.empty()) {
    plan.position_taps = pad_corners(plan.position_taps, plan.rows, rows);
    plan.position_weights = pad_corners(plan.position_weights, plan.rows, rows);
  }
  plan.rows = rows;
  plan.tokens = rows / group;
  return plan;
}

}  // namespace vtower
