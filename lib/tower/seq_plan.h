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

  friend bool operator==(const SeqPlan&, const SeqPlan&) = default;
};

// Throws Error{too_large} when offsets would not fit int32. Grids must be positive and divisible
// by merge_size (RawPatches guarantees it).
SeqPlan make_seq_plan(const VisionConfig& config, std::span<const GridThw> grids);

}  // namespace vtower
