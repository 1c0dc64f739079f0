// Everything about a batch that follows from its grids: computed once on the host, the same for
// every mode.
//
// Source: the vision models of transformers 5.17.0 (cu_seqlens, get_window_index, rotary position
// ids, interpolated position table).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/vision_config.h"
#include "core/grid_thw.h"

namespace vtower {

// N rows (patches) and M tokens. A *sequence* is a run of rows that attend to each other.
struct SeqPlan {
  std::vector<GridThw> grids;
  std::int64_t rows = 0;
  std::int64_t tokens = 0;

  // Offsets of the sequences: 0, never decreasing, last = rows. One sequence per temporal group.
  std::vector<std::int32_t> frame_cu_seqlens;

  // qwen2_5_vl: one sequence per attention window, in window order.
  std::vector<std::int32_t> window_cu_seqlens;
  std::vector<std::int64_t> window_order;    // [M]: place in window order -> token
  std::vector<std::int64_t> window_inverse;  // [M]: token -> place in window order

  // (y, x) of each row as the blocks see the rows (qwen2_5_vl: window order), [N, 2].
  std::vector<std::int32_t> rope_positions;

  // qwen3_vl: rows of the position table and their weights, corner-major [4, N], corners in the
  // order (y0,x0), (y0,x1), (y1,x0), (y1,x1).
  std::vector<std::int32_t> position_taps;
  std::vector<float> position_weights;

  // Rows that belong to items; rows beyond them are padding, which has sequences of its own.
  std::int64_t item_rows = 0;

  friend bool operator==(const SeqPlan&, const SeqPlan&) = default;
};

// Patches of the largest batch: its widest tensor has fewer than 2^31 elements.
std::int64_t most_rows(const VisionConfig& config);

// Throws Error{too_large} above most_rows(). Grids must be positive and divisible
// by merge_size (RawPatches guarantees it).
SeqPlan make_seq_plan(const VisionConfig& config, std::span<const GridThw> grids);

// Fixed sizes that many batches share, as a captured graph needs them.
struct PlanCapacity {
  std::int64_t rows = 0;              // a multiple of merge_size^2
  std::int64_t frame_sequences = 0;   // slots of frame_cu_seqlens
  std::int64_t window_sequences = 0;  // slots of window_cu_seqlens; 0 without windows
  friend constexpr auto operator<=>(const PlanCapacity&, const PlanCapacity&) = default;
};

// The sequences that `plan` needs at the least when it is padded to `rows` rows.
PlanCapacity needed_capacity(const VisionConfig& config, const SeqPlan& plan, std::int64_t rows);

// The plan of the same items with every array at its capacity. Padding rows attend among
// themselves alone: one sequence (windows: of at most a full window each), then empty slots that
// repeat the last offset. Throws Error{out_of_range} when the items do not fit.
SeqPlan pad_seq_plan(const VisionConfig& config, SeqPlan plan, const PlanCapacity& capacity);

}  // namespace vtower
