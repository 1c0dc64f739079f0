#include "media/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"

namespace vtower {
namespace {

constexpr std::int64_t default_min_frames = 4;
constexpr std::int64_t default_max_frames = 768;
constexpr double default_fps = 2.0;
constexpr double assumed_source_fps = 24.0;

[[noreturn]] void refuse(ErrorKind kind, const std::string& message) {
  throw Error(kind, "sampling", message);
}

// A double as an index, saturated: a request of 1e300 frames is a request for all of them.
std::int64_t to_count(double value) {
  constexpr double limit = 9e15;
  return static_cast<std::int64_t>(std::clamp(value, -limit, limit));
}

std::int64_t floor_multiple(double value, std::int64_t step) {
  return to_count(std::floor(value / static_cast<double>(step))) * step;
}

std::int64_t round_multiple(double value, std::int64_t step) {
  return to_count(std::nearbyint(value / static_cast<double>(step))) * step;
}

// numpy.linspace(0, last, count): the step is computed once, the end is exact.
std::vector<double> linspace(double last, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count), 0.0);
  if (count < 2) return values;
  const double step = last / static_cast<double>(count - 1);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k) * step;
  values.back() = last;
  return values;
}

std::int64_t step_count(std::int64_t total_frames, double step) {
  return to_count(std::ceil(static_cast<double>(total_frames) / step));
}

// torch.arange(0, total, step) in float32 on a CPU, truncated. Its kernel fills groups of 16 by two
// vectors of 8 whose base is rounded to float32 first; what is left over is filled one by one. The
// bits are the same on every x86 level.
std::vector<std::int64_t> torch_arange(std::int64_t total_frames, double step) {
  constexpr std::int64_t lanes = 8;
  const std::int64_t count = step_count(total_frames, step);
  const std::int64_t in_vectors = count / (2 * lanes) * (2 * lanes);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    float value = static_cast<float>(static_cast<double>(i) * step);
    if (i < in_vectors) {
      const std::int64_t lane = i % lanes;
      const float base = static_cast<float>(static_cast<double>(i - lane) * step);
      value = static_cast<float>(static_cast<double>(base) + static_cast<double>(lane) * step);
    }
    indices[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(value);
  }
  return indices;
}

double positive_rate(std::optional<double> source_fps) {
  if (!source_fps) refuse(ErrorKind::out_of_range, "expected a frame rate, the clip names none");
  if (!(*source_fps > 0)) refuse(ErrorKind::out_of_range, "the clip's frame rate is not positive");
  return *source_fps;
}

// The count that both Qwen2 rules derive from a rate.
std::int64_t qwen2_count(std::int64_t total_frames, double source_fps, double fps,
                         std::int64_t min_frames, std::int64_t max_frames, std::int64_t group) {
  const auto total = static_cast<double>(total_frames);
  const auto top = static_cast<double>(
      floor_multiple(static_cast<double>(std::min(max_frames, total_frames)), group));
  const double wanted = std::max(total / source_fps * fps, static_cast<double>(min_frames));
  return floor_multiple(std::min({wanted, top, total}), group);
}

std::int64_t qwen3_count(std::int64_t total_frames, double source_fps, double fps,
                         std::int64_t min_frames, std::int64_t max_frames) {
  const std::int64_t wanted =
      to_count(std::trunc(static_cast<double>(total_frames) / source_fps * fps));
  return std::min({std::max(wanted, min_frames), max_frames, total_frames});
}

void require_frames(std::int64_t count) {
  if (count < 1) {
    refuse(ErrorKind::out_of_range,
           "the request leaves no frame; ask for more frames per second or a larger maximum");
  }
}

std::vector<std::int64_t> hf_qwen2(std::int64_t total_frames, std::optional<double> source_fps,
                                   const SamplingRequest& request, std::int64_t group) {
  std::int64_t count = 0;
  if (request.num_frames) {
    count = round_multiple(static_cast<double>(*request.num_frames), group);
  } else if (request.fps) {
    count = qwen2_count(total_frames, positive_rate(source_fps), *request.fps,
                        request.min_frames.value_or(default_min_frames),
                        request.max_frames.value_or(default_max_frames), group);
  } else {
    refuse(ErrorKind::usage, "expected fps or num_frames: this rule has no default");
  }
  if (count > total_frames) {
    refuse(ErrorKind::out_of_range,
           std::to_string(count) + " frames asked, the clip has " + std::to_string(total_frames));
  }
  require_frames(count);
  return torch_arange(total_frames, static_cast<double>(total_frames) / static_cast<double>(count));
}

std::vector<std::int64_t> hf_qwen3(std::int64_t total_frames, std::optional<double> source_fps,
                                   const SamplingRequest& request) {
  std::int64_t count = 0;
  if (request.num_frames) {
    count = *request.num_frames;
  } else {
    const double rate = source_fps ? positive_rate(source_fps) : assumed_source_fps;
    count = qwen3_count(total_frames, rate, request.fps.value_or(default_fps),
                        request.min_frames.value_or(default_min_frames),
                        request.max_frames.value_or(default_max_frames));
  }
  require_frames(count);
  return spread_both_ends(total_frames, count);
}

std::vector<std::int64_t> vllm_generic(std::int64_t total_frames, std::optional<double> source_fps,
                                       const SamplingRequest& request) {
  std::int64_t count = total_frames;
  if (request.num_frames && *request.num_frames > 0) count = std::min(count, *request.num_frames);
  if (request.fps && *request.fps > 0) {
    const double rate = source_fps.value_or(0.0);
    const double seconds = rate > 0 ? static_cast<double>(total_frames) / rate : 0.0;
    count = std::min(count, to_count(std::floor(seconds * *request.fps)));
  }
  std::vector<std::int64_t> indices;
  for (const double value :
       linspace(static_cast<double>(total_frames - 1), std::max<std::int64_t>(count, 1))) {
    indices.push_back(static_cast<std::int64_t>(value));
  }
  return indices;
}

}  // namespace

std::string_view to_string(SamplingRule rule) noexcept {
  switch (rule) {
    case SamplingRule::hf_qwen2: return "hf-qwen2";
    case SamplingRule::hf_qwen3: return "hf-qwen3";
    case SamplingRule::vllm_qwen2: return "vllm-qwen2";
    case SamplingRule::vllm_qwen3: return "vllm-qwen3";
    case SamplingRule::vllm_generic: return "vllm-generic";
  }
  return "?";
}

std::vector<std::int64_t> spread_both_ends(std::int64_t total_frames, std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (const double value : linspace(static_cast<double>(total_frames - 1), count)) {
    indices.push_back(static_cast<std::int64_t>(std::nearbyint(value)));
  }
  return indices;
}

std::vector<std::int64_t> spread_by_step(std::int64_t total_frames, std::int64_t count) {
  const double step = static_cast<double>(total_frames) / static_cast<double>(count);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(step_count(total_frames, step)));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto value = static_cast<float>(static_cast<double>(i) * step);
    indices[i] = std::min(static_cast<std::int64_t>(value), total_frames - 1);
  }
  return indices;
}

std::vector<std::int64_t> sample_indices(SamplingRule rule, std::int64_t total_frames,
                                         std::optional<double> source_fps,
                                         const SamplingRequest& request,
                                         std::int64_t temporal_patch_size) {
  const bool hf = rule == SamplingRule::hf_qwen2 || rule == SamplingRule::hf_qwen3;
  if (hf && request.fps && request.num_frames) {
    refuse(ErrorKind::usage, "fps and num_frames exclude each other");
  }
  const double fps = std::min(request.fps.value_or(default_fps), vllm_max_fps);
  const std::int64_t min_frames = request.min_frames.value_or(default_min_frames);
  const std::int64_t max_frames =
      std::min(request.max_frames.value_or(default_max_frames), vllm_max_frames);
  switch (rule) {
    case SamplingRule::hf_qwen2:
      return hf_qwen2(total_frames, source_fps, request, temporal_patch_size);
    case SamplingRule::hf_qwen3: return hf_qwen3(total_frames, source_fps, request);
    case SamplingRule::vllm_qwen2: {
      const std::int64_t count = qwen2_count(total_frames, positive_rate(source_fps), fps,
                                             min_frames, max_frames, temporal_patch_size);
      require_frames(count);
      return spread_by_step(total_frames, count);
    }
    case SamplingRule::vllm_qwen3: {
      const double rate = source_fps && *source_fps > 0 ? *source_fps : assumed_source_fps;
      const std::int64_t count = qwen3_count(total_frames, rate, fps, min_frames, max_frames);
      require_frames(count);
      return spread_both_ends(total_frames, count);
    }
    case SamplingRule::vllm_generic: return vllm_generic(total_frames, source_fps, request);
  }
  return {};
}

}  // namespace vtower
