// How the reference server chooses budgets and packs images for its encoder graphs: the control
// beside which the waste of our own plan is shown.
//
// Source: EncoderCudaGraphManager of vLLM 0.33.0 (v1/worker/encoder_cudagraph.py). Its unit is the
// output token; tests compare with executed cases (tests/golden/vllm/packing.json).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vtower {

struct ReferenceBudgetRequest {
  std::int64_t smallest = 64;  // tokens, as the model reports
  std::int64_t largest = 0;
  std::vector<std::int64_t> user_budgets;   // empty: none given
  std::optional<std::int64_t> user_items;   // most items of a batch
  std::optional<std::int64_t> user_frames;  // most frames of a batch
  std::int64_t videos_per_prompt = 1;       // 0: no videos
  std::int64_t frames_per_video = 1;
};

struct ReferenceBudgets {
  std::vector<std::int64_t> tokens;  // ascending
  std::int64_t max_items = 0;
  std::int64_t max_frames = 0;
};

// Powers of two times the smallest, and the largest; throws Error{usage} where the reference
// refuses.
ReferenceBudgets reference_budgets(const ReferenceBudgetRequest& request);

struct ReferenceBatch {
  std::vector<std::size_t> items;  // indices into the request, in batch order
  std::int64_t tokens = 0;
  std::optional<std::int64_t> budget;  // empty: runs without a graph
};

// Items by rising size into the open batch, which is closed when it is full, or when closing it
// takes smaller budgets in all.
std::vector<ReferenceBatch> pack_as_reference(std::span<const std::int64_t> tokens,
                                              const ReferenceBudgets& budgets);

}  // namespace vtower
