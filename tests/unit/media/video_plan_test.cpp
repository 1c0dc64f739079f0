// The policies around the sampling rules.
#include "media/video_plan.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "support/doctest.h"
#include "unit/media/video_specs.h"

using namespace vtower;
using namespace vtower::test;

namespace {

using Indices = std::vector<std::int64_t>;

ClipTimes steady(std::int64_t frames, double rate) {
  ClipTimes clip;
  for (std::int64_t i = 0; i < frames; ++i) clip.seconds.push_back(static_cast<double>(i) / rate);
  clip.duration_seconds = static_cast<double>(frames) / rate;
  clip.container_rate = rate;
  return clip;
}

MediaOptions with(Profile profile, const VideoOptions& video) {
  MediaOptions options;
  options.profile = profile;
  options.video = video;
  return options;
}

VideoOptions count_of(std::int64_t frames) {
  VideoOptions video;
  video.num_frames = frames;
  return video;
}

VideoOptions rate_of(double fps) {
  VideoOptions video;
  video.fps = fps;
  return video;
}

ErrorKind refusal(const ClipTimes& clip, const PixelSpec& spec, const MediaOptions& options) {
  try {
    plan_frames(clip, spec, options);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL_CHECK("expected an Error");
  return ErrorKind::peer;
}

bool noted(const FramePlan& plan, const char* text) {
  return std::any_of(plan.notes.begin(), plan.notes.end(), [text](const std::string& note) {
    return note.find(text) != std::string::npos;
  });
}

constexpr Profile both[] = {Profile::vllm, Profile::hf};

}  // namespace

TEST_CASE("more frames asked than exist are clamped and recorded") {
  for (const Profile profile : both) {
    CAPTURE(to_string(profile));
    const FramePlan two = plan_frames(steady(31, 30), qwen2_spec(), with(profile, count_of(32)));
    CHECK(two.indices.size() == 30);
    CHECK(two.frames_asked == 32);
    const FramePlan three = plan_frames(steady(31, 30), qwen3_spec(), with(profile, count_of(32)));
    CHECK(three.indices.size() == 31);
    CHECK(three.frames_asked == 32);
    for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
      const FramePlan all = plan_frames(steady(10, 30), spec, with(profile, count_of(20)));
      CHECK(all.indices == Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
      CHECK(all.frames_asked == 20);
    }
    // 31 of 31 is no excess, but the qwen2 rule rounds it to 32.
    CHECK(plan_frames(steady(31, 30), qwen2_spec(), with(profile, count_of(31))).indices.size() ==
          30);
  }
}

TEST_CASE("a count is spread by the family's formula in every profile") {
  for (const Profile profile : both) {
    CHECK(plan_frames(steady(10, 5), qwen3_spec(), with(profile, count_of(4))).indices ==
          Indices{0, 3, 6, 9});
    CHECK(plan_frames(steady(10, 5), qwen2_spec(), with(profile, count_of(4))).indices ==
          Indices{0, 2, 5, 7});
    CHECK(plan_frames(steady(15, 5), qwen3_spec(), with(profile, count_of(13))).indices ==
          Indices{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14});
    CHECK(refusal(steady(15, 5), qwen2_spec(), with(profile, count_of(1))) ==
          ErrorKind::out_of_range);
  }
}

TEST_CASE("every count of every clip gives ordered indices in range") {
  for (const Profile profile : both) {
    for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
      for (std::int64_t frames = 2; frames <= 120; ++frames) {
        for (std::int64_t count = 2; count <= frames + 3; ++count) {
          const FramePlan plan =
              plan_frames(steady(frames, 25), spec, with(profile, count_of(count)));
          const bool ordered = std::is_sorted(plan.indices.begin(), plan.indices.end());
          if (!ordered || plan.indices.front() != 0 || plan.indices.back() >= frames) {
            FAIL_CHECK(count << " of " << frames);
          }
        }
      }
    }
  }
}

TEST_CASE("an index behind the end is moved to the last frame and noted") {
  const FramePlan plan =
      plan_frames(steady(230, 30), qwen2_spec(), with(Profile::hf, count_of(14)));
  CHECK(plan.indices.size() == 15);
  CHECK(plan.indices.back() == 229);
  CHECK(noted(plan, "behind the last frame"));
  CHECK(noted(plan, "15 indices for 14"));
}

TEST_CASE("short clips get the rule's minimum") {
  for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
    CHECK(plan_frames(steady(10, 25), spec, with(Profile::vllm, rate_of(1))).indices.size() == 4);
  }
}

TEST_CASE("one frame is that frame, at any rate or none") {
  ClipTimes clip;
  clip.seconds = {0.0};
  for (const Profile profile : both) {
    for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
      const FramePlan plan = plan_frames(clip, spec, with(profile, rate_of(2)));
      CHECK(plan.indices == Indices{0});
      CHECK(!plan.fps.has_value());
      CHECK(plan.fps_origin == "unknown");
    }
  }
}

TEST_CASE("rates: the container's, the timestamps', the rule's own, or none") {
  ClipTimes clip = steady(60, 30);
  clip.container_rate = 25.0;
  const MediaOptions vllm = with(Profile::vllm, {});
  const MediaOptions hf = with(Profile::hf, rate_of(2));
  CHECK(plan_frames(clip, qwen3_spec(), vllm).fps == 25.0);
  CHECK(plan_frames(clip, qwen3_spec(), vllm).fps_origin == "container");
  CHECK(plan_frames(clip, qwen3_spec(), hf).fps.value() == doctest::Approx(30.0));
  CHECK(plan_frames(clip, qwen3_spec(), hf).fps_origin == "timestamps");

  clip.container_rate.reset();
  CHECK(plan_frames(clip, qwen2_spec(), vllm).fps.value() == doctest::Approx(30.0));
  CHECK(plan_frames(clip, qwen2_spec(), vllm).fps_origin == "timestamps");

  ClipTimes timeless;
  timeless.seconds.assign(60, 0.0);
  for (const MediaOptions& options : {vllm, hf}) {
    CHECK(plan_frames(timeless, qwen3_spec(), options).fps == 24.0);
    CHECK(plan_frames(timeless, qwen3_spec(), options).fps_origin == "assumed");
    CHECK(refusal(timeless, qwen2_spec(), options) == ErrorKind::out_of_range);
  }
  CHECK(plan_frames(timeless, qwen2_spec(), with(Profile::vllm, count_of(4))).indices.size() == 4);
}

TEST_CASE("vllm caps requests, hf does not, and the safety cap names its option") {
  VideoOptions greedy = rate_of(1000);
  greedy.max_frames = 5000;
  const FramePlan capped = plan_frames(steady(3000, 25), qwen3_spec(), with(Profile::vllm, greedy));
  CHECK(capped.indices.size() == 768);
  CHECK(noted(capped, "fps capped at 30"));
  CHECK(noted(capped, "frames capped at 768"));
  CHECK(plan_frames(steady(3000, 25), qwen2_spec(), with(Profile::vllm, count_of(2000)))
            .indices.size() == 768);

  CHECK(refusal(steady(3000, 25), qwen3_spec(), with(Profile::hf, greedy)) == ErrorKind::too_large);
  MediaOptions raised = with(Profile::hf, greedy);
  raised.max_video_frames = 3000;
  CHECK(plan_frames(steady(3000, 25), qwen3_spec(), raised).indices.size() == 3000);
}

TEST_CASE("hf-qwen2 takes all frames unless told otherwise") {
  PixelSpec spec = qwen2_spec();
  const MediaOptions plain = with(Profile::hf, {});
  CHECK(plan_frames(steady(50, 25), spec, plain).indices.size() == 50);
  CHECK(plan_frames(steady(50, 25), spec, with(Profile::hf, rate_of(2))).indices.size() == 4);
  CHECK(refusal(steady(769, 25), spec, plain) == ErrorKind::too_large);
  spec.do_sample_frames = true;
  CHECK(refusal(steady(50, 25), spec, plain) == ErrorKind::usage);  // TypeError there
  spec.fps = 5.0;
  CHECK(plan_frames(steady(50, 25), spec, plain).indices.size() == 10);

  PixelSpec three = qwen3_spec();
  CHECK(plan_frames(steady(50, 25), three, plain).indices.size() == 4);
  three.do_sample_frames = false;
  CHECK(plan_frames(steady(50, 25), three, plain).indices.size() == 50);
  // vLLM's loaders sample whatever the checkpoint's files say.
  CHECK(plan_frames(steady(50, 25), three, with(Profile::vllm, {})).indices.size() == 4);
}

TEST_CASE("contradictory requests are usage errors") {
  const auto kind = [](const VideoOptions& video) {
    return refusal(steady(50, 25), qwen3_spec(), with(Profile::vllm, video));
  };
  VideoOptions pair = rate_of(2);
  pair.num_frames = 4;
  CHECK(kind(pair) == ErrorKind::usage);
  VideoOptions crossed;
  crossed.min_frames = 9;
  crossed.max_frames = 8;
  CHECK(kind(crossed) == ErrorKind::usage);
  for (const double fps : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    CHECK(kind(rate_of(fps)) == ErrorKind::usage);
  }
  CHECK(kind(count_of(0)) == ErrorKind::usage);
  VideoOptions unused;
  unused.max_frames = 8;
  CHECK(refusal(steady(50, 25), qwen2_spec(), with(Profile::hf, unused)) == ErrorKind::usage);
}

TEST_CASE("by time: two seconds at 10 frames a second, then two at 60") {
  ClipTimes clip;
  for (int i = 0; i < 20; ++i) clip.seconds.push_back(i / 10.0);
  for (int i = 0; i < 120; ++i) clip.seconds.push_back(2.0 + i / 60.0);
  clip.duration_seconds = 4.0;
  clip.container_rate = 35.1;
  VideoOptions video;
  video.sample_by = SampleBy::time;
  for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
    CHECK(plan_frames(clip, spec, with(Profile::vllm, video)).indices ==
          Indices{0, 5, 10, 15, 20, 50, 80, 110});
  }
  video.num_frames = 4;
  CHECK(plan_frames(clip, qwen3_spec(), with(Profile::hf, video)).indices ==
        Indices{0, 10, 20, 80});
}

TEST_CASE("by time a frame is taken once, and times are needed") {
  ClipTimes slow;
  slow.seconds = {0.0, 3.0};
  slow.duration_seconds = 4.0;
  VideoOptions video = rate_of(1);
  video.sample_by = SampleBy::time;
  CHECK(plan_frames(slow, qwen3_spec(), with(Profile::vllm, video)).indices.size() <= 2);
  ClipTimes timeless;
  timeless.seconds.assign(9, 0.0);
  CHECK(refusal(timeless, qwen3_spec(), with(Profile::vllm, video)) == ErrorKind::out_of_range);
}
