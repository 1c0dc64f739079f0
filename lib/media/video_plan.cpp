#include "media/video_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "media/sampling.h"

namespace vtower {
namespace {

constexpr double assumed_fps = 24.0;

[[noreturn]] void refuse(ErrorKind kind, const std::string& message) {
  throw Error(kind, "video_plan", message);
}

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

void validate(const VideoOptions& video) {
  if (video.fps && video.num_frames) {
    refuse(ErrorKind::usage, "--fps and --num-frames exclude each other");
  }
  if (video.fps && !(std::isfinite(*video.fps) && *video.fps > 0)) {
    refuse(ErrorKind::usage, "--fps: expected a positive number");
  }
  for (const auto& count : {video.num_frames, video.min_frames, video.max_frames}) {
    if (count && *count < 1) {
      refuse(ErrorKind::usage, "--num-frames, --min-frames, --max-frames: expected at least 1");
    }
  }
  if (video.min_frames && video.max_frames && *video.min_frames > *video.max_frames) {
    refuse(ErrorKind::usage, "--min-frames " + std::to_string(*video.min_frames) +
                                 " is above --max-frames " + std::to_string(*video.max_frames));
  }
}

class Planner {
 public:
  Planner(const ClipTimes& clip, const PixelSpec& spec, const MediaOptions& options)
      : clip_(clip), spec_(spec), options_(options), request_(effective_request()) {}

  FramePlan plan() {
    if (total() == 1) {
      find_rate();
      plan_.rule = "the only frame";
      plan_.indices = {0};
    } else if (takes_all()) {
      take_all();
    } else {
      find_rate();
      plan_.rule = name();
      if (options_.video.sample_by == SampleBy::time) {
        by_time();
      } else if (request_.num_frames) {
        by_count();
      } else {
        by_rate();
      }
      keep_in_range();
    }
    describe_request();
    check_cap();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::int64_t total() const {
    return static_cast<std::int64_t>(clip_.seconds.size());
  }
  [[nodiscard]] bool vllm() const { return options_.profile == Profile::vllm; }
  [[nodiscard]] bool qwen2() const { return spec_.video_rule == VideoRule::qwen2; }
  [[nodiscard]] std::int64_t group() const { return spec_.layout.temporal_patch_size; }
  [[nodiscard]] SamplingRule rule() const {
    if (vllm()) return qwen2() ? SamplingRule::vllm_qwen2 : SamplingRule::vllm_qwen3;
    return qwen2() ? SamplingRule::hf_qwen2 : SamplingRule::hf_qwen3;
  }
  [[nodiscard]] std::string name() const { return std::string(to_string(rule())); }

  // Options first, then (hf) the checkpoint's files; vLLM's loaders do not read those.
  [[nodiscard]] SamplingRequest effective_request() const {
    const VideoOptions& asked = options_.video;
    SamplingRequest request{asked.fps, asked.num_frames, asked.min_frames, asked.max_frames};
    if (vllm()) return request;
    if (!request.fps && !request.num_frames) {
      request.fps = spec_.fps;
      request.num_frames = spec_.num_frames;
    }
    if (!request.min_frames) request.min_frames = spec_.min_frames;
    if (!request.max_frames) request.max_frames = spec_.max_frames;
    return request;
  }

  [[nodiscard]] bool takes_all() const {
    if (vllm() || options_.video.fps || options_.video.num_frames) return false;
    return !spec_.do_sample_frames.value_or(!qwen2());
  }

  void take_all() {
    if (options_.video.min_frames || options_.video.max_frames ||
        options_.video.sample_by == SampleBy::time) {
      refuse(ErrorKind::usage,
             "this checkpoint takes all frames in profile " +
                 std::string(to_string(options_.profile)) +
                 ": --min-frames, --max-frames and --sample-by need --fps or --num-frames");
    }
    find_rate();
    plan_.rule = name() + " without sampling: all frames";
    plan_.indices.resize(clip_.seconds.size());
    std::iota(plan_.indices.begin(), plan_.indices.end(), 0);
  }

  // vllm: the container's average rate; hf: frames / duration.
  void find_rate() {
    const double last = clip_.seconds.back();
    std::optional<double> measured;
    if (clip_.duration_seconds > 0 && (!vllm() || total() == 1)) {
      measured = static_cast<double>(total()) / clip_.duration_seconds;
    } else if (total() > 1 && last > 0) {
      measured = static_cast<double>(total() - 1) / last;
    }
    const bool measure = !vllm() || !clip_.container_rate;
    plan_.fps = measure && measured ? measured : clip_.container_rate;
    plan_.fps_origin = "unknown";
    if (plan_.fps) plan_.fps_origin = measure && measured ? "timestamps" : "container";
  }

  void require_rate() {
    if (plan_.fps) return;
    if (qwen2()) {
      refuse(ErrorKind::out_of_range,
             "neither the container nor its timestamps give a frame rate; ask for --num-frames");
    }
    plan_.fps = assumed_fps;
    plan_.fps_origin = "assumed";
  }

  void by_rate() {
    require_rate();
    if (request_.fps) {
      const double asked = static_cast<double>(total()) / *plan_.fps * *request_.fps;
      if (asked > static_cast<double>(total())) {
        plan_.frames_asked = static_cast<std::int64_t>(std::min(asked, 9e15));
      }
    }
    plan_.indices = sample_indices(rule(), total(), plan_.fps, request_, group());
  }

  // The most frames that the rule can take, in whole groups for qwen2.
  [[nodiscard]] std::int64_t most() const {
    const std::int64_t available = vllm() ? std::min(total(), vllm_max_frames) : total();
    return qwen2() ? available / group() * group() : available;
  }

  void by_count() {
    std::int64_t count = *request_.num_frames;
    if (qwen2()) {  // half to even, as the reference rounds
      const double groups = static_cast<double>(count) / static_cast<double>(group());
      count = static_cast<std::int64_t>(std::nearbyint(groups)) * group();
    }
    if (count > most()) {
      plan_.frames_asked = request_.num_frames;
      count = most();
    }
    if (count < 1) {
      refuse(ErrorKind::out_of_range,
             std::to_string(*request_.num_frames) + " frames asked of " + std::to_string(total()) +
                 ": the rule takes whole groups of " + std::to_string(group()));
    }
    if (vllm()) {
      plan_.indices = qwen2() ? spread_by_step(total(), count) : spread_both_ends(total(), count);
      plan_.notes.push_back("vLLM's loader ignores a frame count; its formula was given " +
                            std::to_string(count));
    } else {
      plan_.indices = sample_indices(rule(), total(), plan_.fps, {.num_frames = count}, group());
    }
    if (static_cast<std::int64_t>(plan_.indices.size()) != count) {
      plan_.notes.push_back("the rule's floating-point step yields " +
                            std::to_string(plan_.indices.size()) + " indices for " +
                            std::to_string(count));
    }
  }

  // As many frames as the rule takes, but those shown at k * duration / count.
  void by_time() {
    const double last = clip_.seconds.back();
    const double duration =
        std::max(clip_.duration_seconds,
                 last + last / static_cast<double>(std::max(total() - 1, std::int64_t{1})));
    if (!(duration > 0)) {
      refuse(ErrorKind::out_of_range, "--sample-by time: the clip has no timestamps");
    }
    plan_.fps = static_cast<double>(total()) / duration;
    plan_.fps_origin = "timestamps";
    if (request_.num_frames) {
      by_count();
    } else {
      by_rate();
    }
    const std::size_t count = plan_.indices.size();
    plan_.rule += ", by time";
    plan_.notes.clear();
    plan_.indices.clear();
    for (std::size_t k = 0; k < count; ++k) {
      const double time = static_cast<double>(k) * duration / static_cast<double>(count);
      constexpr double rounding = 1e-6;
      const auto after =
          std::upper_bound(clip_.seconds.begin(), clip_.seconds.end(), time + rounding);
      const std::int64_t index = std::max<std::int64_t>(after - clip_.seconds.begin() - 1, 0);
      if (plan_.indices.empty() || index > plan_.indices.back()) plan_.indices.push_back(index);
    }
    if (plan_.indices.size() < count) {
      plan_.notes.push_back("frames that are shown longer than a step were taken once");
    }
  }

  void keep_in_range() {
    bool moved = false;
    for (std::int64_t& index : plan_.indices) {
      moved = moved || index >= total();
      index = std::min(index, total() - 1);
    }
    if (moved) plan_.notes.push_back("an index behind the last frame became the last frame");
    if (vllm()) {  // one decoded frame per index, as in the loader's set
      plan_.indices.erase(std::unique(plan_.indices.begin(), plan_.indices.end()),
                          plan_.indices.end());
    }
  }

  void describe_request() {
    if (request_.fps) plan_.rule += ", fps " + number(*request_.fps);
    if (request_.num_frames) plan_.rule += ", num_frames " + std::to_string(*request_.num_frames);
    if (request_.min_frames) plan_.rule += ", min_frames " + std::to_string(*request_.min_frames);
    if (request_.max_frames) plan_.rule += ", max_frames " + std::to_string(*request_.max_frames);
    if (vllm() && request_.fps && *request_.fps > vllm_max_fps) {
      plan_.notes.push_back("fps capped at " + number(vllm_max_fps) + ", as vLLM does");
    }
    if (vllm() && std::max(request_.max_frames.value_or(0), request_.num_frames.value_or(0)) >
                      vllm_max_frames) {
      plan_.notes.push_back("frames capped at " + std::to_string(vllm_max_frames) +
                            ", as vLLM does");
    }
  }

  void check_cap() const {
    const auto count = static_cast<std::int64_t>(plan_.indices.size());
    if (count <= options_.max_video_frames) return;
    refuse(ErrorKind::too_large, std::to_string(count) + " frames would be taken, the cap is " +
                                     std::to_string(options_.max_video_frames) +
                                     "; raise --max-video-frames, or ask for fewer");
  }

  const ClipTimes& clip_;
  const PixelSpec& spec_;
  const MediaOptions& options_;
  SamplingRequest request_;
  FramePlan plan_;
};

}  // namespace

FramePlan plan_frames(const ClipTimes& clip, const PixelSpec& spec, const MediaOptions& options) {
  validate(options.video);
  return Planner(clip, spec, options).plan();
}

}  // namespace vtower
