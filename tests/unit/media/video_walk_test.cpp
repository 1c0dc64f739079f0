// Reaching frames in any way gives the same frames.
#include "media/video_walk.h"

#include <algorithm>
#include <mutex>
#include <random>

#include "unit/media/video_clips.h"

using namespace vtower;
using namespace vtower::test;

namespace {

// B-frames, open GOP, HEVC, VP9, edit list, fragments, an offset start, AVI, GIF.
constexpr const char* clips[] = {"h264_30fps_90_bframes.mp4",
                                 "h264_open_gop.mp4",
                                 "h264_edit_list.mp4",
                                 "h264_7_frames.mp4",
                                 "h264_start_5s.mkv",
                                 "hevc_main.mp4",
                                 "vp9_no_count.webm",
                                 "h264_fragmented.mp4",
                                 "h264_60fps.mp4",
                                 "h264_rotate_90.mp4",
                                 "mpeg4_part2.avi",
                                 "mjpeg.avi",
                                 "animated.gif",
                                 "real_carphone_pristine.mp4"};

}  // namespace

TEST_CASE("every frame by itself, in random order, equals decoding in order") {
  for (const char* name : clips) {
    CAPTURE(name);
    const Clip clip = golden_clip(name);
    std::vector<std::int64_t> order = all_frames(clip.index);
    const auto expected = frame_digests(clip, order, Profile::vllm, Walk::sequential);
    REQUIRE(expected.size() == order.size());
    std::mt19937 random(7);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::int64_t frame : order) {
      CAPTURE(frame);
      CHECK(frame_digests(clip, {frame}, Profile::vllm).at(frame) == expected.at(frame));
    }
  }
}

TEST_CASE("random selections on one, two and eight threads equal decoding in order") {
  std::mt19937 random(11);
  for (const char* name : clips) {
    CAPTURE(name);
    const Clip clip = golden_clip(name);
    const std::vector<std::int64_t> all = all_frames(clip.index);
    const auto expected = frame_digests(clip, all, Profile::hf, Walk::sequential);
    for (const int threads : {1, 2, 8}) {
      std::vector<std::int64_t> wanted;
      std::sample(all.begin(), all.end(), std::back_inserter(wanted), 6, random);
      std::mutex mutex;
      std::map<std::int64_t, std::string> digests;
      const auto sink = [&](std::int64_t frame, const AVFrame& source) {
        FrameConverter converter(Profile::hf, clip.container.rotation_degrees());
        const std::string digest = sha256_hex(converter.convert(source).pixels.span());
        const std::lock_guard lock(mutex);
        digests[frame] = digest;
      };
      CHECK(decode_frames(clip.file.bytes(), clip.index, wanted, {Walk::seeking, threads, no_cap},
                          sink)
                .empty());
      REQUIRE(digests.size() == wanted.size());
      for (const std::int64_t frame : wanted) CHECK(digests.at(frame) == expected.at(frame));
    }
  }
}

TEST_CASE("seeking pays: far frames are reached from their own restart point") {
  const Clip clip = golden_clip("h264_open_gop.mp4");
  CHECK(clip.index.by_timestamp);
  CHECK(clip.index.restarts.size() >= 3);
  const std::vector<std::int64_t> wanted = {0, 70};
  const std::vector<Stretch> stretches = plan_stretches(clip.index, wanted, Walk::seeking);
  REQUIRE(stretches.size() == 2);
  CHECK(stretches[1].start > 40);
  CHECK(plan_stretches(clip.index, wanted, Walk::sequential).size() == 1);
}

TEST_CASE("a clip without timestamps of its own is decoded in order") {
  const Clip clip = golden_clip("mpeg4_part2.avi");
  CHECK(!clip.index.by_timestamp);
  CHECK(plan_stretches(clip.index, std::vector<std::int64_t>{0, 49}, Walk::seeking).size() == 1);
}

TEST_CASE("what a sink throws comes out, from any thread") {
  const Clip clip = golden_clip("h264_open_gop.mp4");
  for (const int threads : {1, 4}) {
    const auto sink = [](std::int64_t, const AVFrame&) {
      throw Error(ErrorKind::memory, "test", "full");
    };
    CHECK(kind_of_error([&] {
            decode_frames(clip.file.bytes(), clip.index, std::vector<std::int64_t>{0, 30, 60},
                          {Walk::seeking, threads, no_cap}, sink);
          }) == ErrorKind::memory);
  }
}
