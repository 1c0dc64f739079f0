// Which frames of a clip are taken: the references' own sampling rules as pure functions.
//
// Sources: sample_frames of Qwen2VLVideoProcessor and Qwen3VLVideoProcessor, transformers 5.17.0;
// the video loaders of vLLM 0.33.0 (qwen2_vl, qwen3_vl, generic). Vectors:
// tests/golden/media/sampling.json. What vtower does around a rule (clamping what is asked, a
// single frame, safety caps) is video_plan.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vtower {

enum class SamplingRule { hf_qwen2, hf_qwen3, vllm_qwen2, vllm_qwen3, vllm_generic };

std::string_view to_string(SamplingRule rule) noexcept;  // "hf-qwen2", "vllm-generic", ...

// What is empty takes the rule's own default: min_frames 4 and max_frames 768 everywhere; fps 2 in
// hf_qwen3 (unless num_frames is given alone), vllm_qwen2 and vllm_qwen3; no limit in vllm_generic.
struct SamplingRequest {
  std::optional<double> fps = {};
  std::optional<std::int64_t> num_frames = {};  // ignored by vllm_qwen2 and vllm_qwen3, as there
  std::optional<std::int64_t> min_frames = {};
  std::optional<std::int64_t> max_frames = {};
};

// The caps that vLLM's Qwen loaders put on a request.
inline constexpr std::int64_t vllm_max_frames = 768;
inline constexpr double vllm_max_fps = 30.0;

// Indices in presentation order, exactly as the reference yields them: hf_qwen2 may end with an
// index equal to total_frames (230 frames, 14 asked), which the caller has to notice.
// `source_fps` is the clip's rate, empty where it is unknown. total_frames >= 1.
// Throws Error where the reference raises: usage when fps and num_frames are both given, or neither
// to hf_qwen2; out_of_range when nothing or more than there is would be taken, or the rate is
// missing or not positive.
std::vector<std::int64_t> sample_indices(SamplingRule rule, std::int64_t total_frames,
                                         std::optional<double> source_fps,
                                         const SamplingRequest& request,
                                         std::int64_t temporal_patch_size);

// `count` indices spread over the clip by the family's formula, 1 <= count <= total_frames.
// Rounded steps with both ends included (the qwen3 rules).
std::vector<std::int64_t> spread_both_ends(std::int64_t total_frames, std::int64_t count);
// Steps of total/count from 0 in float32, as vLLM's qwen2 loader: never beyond the last frame.
std::vector<std::int64_t> spread_by_step(std::int64_t total_frames, std::int64_t count);

}  // namespace vtower
