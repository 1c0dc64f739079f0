// Frames against what OpenCV and torchcodec gave, by hash.
#include <set>

#include "support/doctest.h"
#include "unit/media/video_clips.h"

using namespace vtower;
using namespace vtower::test;
using nlohmann::json;

namespace {

const std::set<std::string> refused = {"bad_audio_only.mp4", "bad_empty.mp4", "bad_no_moov.mp4",
                                       "bad_last_30_percent_cut.mp4"};

// Every hash that the reference's decoder has for the clip.
void check_frames(const std::string& name, const json& facts, const char* reader, Profile profile) {
  CAPTURE(name);
  CAPTURE(reader);
  const Clip clip = golden_clip(name);
  std::map<std::int64_t, std::string> expected;
  for (const auto& [frame, readers] : facts.at("frames").items()) {
    if (!readers.contains(reader)) continue;
    expected[std::stoll(frame)] = readers.at(reader).at("sha256");
  }
  CHECK(!expected.empty());
  std::vector<std::int64_t> wanted;
  for (const auto& [frame, unused] : expected) wanted.push_back(frame);
  CHECK(frame_digests(clip, wanted, profile) == expected);
}

}  // namespace

TEST_CASE("frames equal OpenCV's in profile vllm and torchcodec's in profile hf") {
  const json clips = golden_json("media/videos.json").at("clips");
  int compared = 0;
  for (const auto& [name, facts] : clips.items()) {
    if (refused.contains(name)) continue;
    ++compared;
    check_frames(name, facts, "torchcodec", Profile::hf);
    // Newer FFmpeg maps BT.2020 primaries to BT.709, 5.1 cannot; OpenCV 5.0 decodes no AV1.
    if (name == "hevc_10bit_bt2020_pq.mp4" || name == "av1.mp4") continue;
    check_frames(name, facts, "opencv", Profile::vllm);
  }
  CHECK(compared == 31);
}

TEST_CASE("the known exception is one") {
  const json facts = golden_json("media/videos.json").at("clips").at("hevc_10bit_bt2020_pq.mp4");
  const Clip clip = golden_clip("hevc_10bit_bt2020_pq.mp4");
  CHECK(frame_digests(clip, {0}, Profile::vllm).at(0) !=
        facts.at("frames").at("0").at("opencv").at("sha256").get<std::string>());
}

TEST_CASE("counts, rates and starts are those of torchcodec's scan") {
  const json clips = golden_json("media/videos.json").at("clips");
  for (const auto& [name, facts] : clips.items()) {
    if (refused.contains(name)) continue;
    CAPTURE(name);
    const Clip clip = golden_clip(name);
    const json& scan = facts.at("torchcodec");
    CHECK(clip.index.frame_count() == scan.at("frame_count").get<std::int64_t>());
    CHECK(clip.index.mean_rate().value() == doctest::Approx(scan.at("fps").get<double>()));
    CHECK(clip.index.start_seconds == doctest::Approx(scan.at("begin").get<double>()));
    CHECK(clip.container.average_rate().value() ==
          doctest::Approx(facts.at("opencv").at("fps").get<double>()).epsilon(1e-12));
  }
}
