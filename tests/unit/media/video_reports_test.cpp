// Faults that people met in other video readers, on the clips of golden/made/video.
#include <algorithm>
#include <set>

#include "core/raw_patch_dump.h"
#include "media/media_item.h"
#include "media/video_item.h"
#include "media/video_source.h"
#include "media/video_walk.h"
#include "unit/media/video_clips.h"
#include "unit/media/video_specs.h"

using namespace vtower;
using namespace vtower::test;

namespace {

std::filesystem::path made(const std::string& name) {
  return golden("made/video/" + name);
}

Frame copy_of(const Frame& frame) {
  Frame copy(frame.size);
  std::copy_n(frame.pixels.data(), frame.pixels.size(), copy.pixels.data());
  return copy;
}

std::vector<Frame> frames_of(const std::string& name, Profile profile = Profile::vllm) {
  const Clip clip(made(name));
  FrameConverter converter(profile, clip.container.rotation_degrees());
  std::vector<Frame> frames;
  const auto damaged =
      decode_frames(clip.file.bytes(), clip.index, all_frames(clip.index),
                    {Walk::sequential, 1, no_cap}, [&](std::int64_t, const AVFrame& source) {
                      frames.push_back(copy_of(converter.convert(source)));
                    });
  CHECK(damaged.empty());
  return frames;
}

struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

Colour at(const Frame& frame, std::int64_t y, std::int64_t x) {
  const std::uint8_t* pixel = frame.row(y) + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

// The number burnt into a frame: eight 12x12 cells, lowest bit first.
int burnt_number(const Frame& frame) {
  int number = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if (at(frame, 6, 12 * bit + 6).green > 128) number |= 1 << bit;
  }
  return number;
}

std::vector<int> burnt_numbers(const std::string& name) {
  std::vector<int> numbers;
  for (const Frame& frame : frames_of(name)) numbers.push_back(burnt_number(frame));
  return numbers;
}

std::vector<int> counted(int first, int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

ItemRecord record_of(const std::string& name, const MediaOptions& options = {},
                     const PixelSpec& spec = qwen3_spec()) {
  return open_video_item(made(name), spec, options)->load().record;
}

bool noted(const ItemRecord& record, const std::string& text) {
  return std::any_of(record.notes.begin(), record.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("an edit list: counted, timed and shown is what it leaves visible") {
  const Clip clip(made("trimmed.mp4"));
  CHECK(clip.container.header_frame_count() == 93);
  CHECK(clip.index.frame_count() == 12);
  // The copy was cut in decoding order: three frames are missing near its end.
  CHECK(burnt_numbers("trimmed.mp4") ==
        std::vector<int>{81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 95});
  CHECK(record_of("trimmed.mp4").video->frames.front().seconds == 0.0);
}

TEST_CASE("display rotation is applied before the resize, by matrix or by the old tag") {
  const Frame flat = std::move(frames_of("rotate_0.mp4").front());
  const std::pair<const char*, std::int64_t> turned[] = {{"rotate_90.mp4", 270},
                                                         {"rotate_180.mp4", 180},
                                                         {"rotate_270.mp4", 90},
                                                         {"rotate_tag_90.mkv", 90}};
  for (const auto& [name, tag] : turned) {
    CAPTURE(name);
    const Frame frame = std::move(frames_of(name).front());
    const std::int64_t clockwise = tag;
    const Frame expected = rotated(flat, clockwise);
    CHECK(frame.size == expected.size);
    CHECK(std::equal(frame.pixels.span().begin(), frame.pixels.span().end(),
                     expected.pixels.span().begin()));
    const auto item = open_video_item(made(name), qwen3_spec(), {});
    const bool upright = item->header().grid.h > item->header().grid.w;
    CHECK(upright == (clockwise != 180));
    CHECK(item->load().record.video->rotation_degrees == clockwise);
  }
}

TEST_CASE("colour tags are obeyed, untagged is BT.601 at any size, grey stays neutral") {
  const auto colour = [](const char* name, Profile profile) {
    return at(frames_of(name, profile).front(), 20, 20);
  };
  for (const Profile profile : {Profile::vllm, Profile::hf}) {
    CHECK(colour("colour_bt709_tv.mp4", profile) == Colour{255, 23, 0});
    CHECK(colour("colour_untagged_320x240.mp4", profile) ==
          colour("colour_untagged_1280x720.mp4", profile));
    CHECK(colour("colour_untagged_320x240.mp4", profile) == Colour{253, 0, 0});
    CHECK(colour("colour_bt601_tv.mp4", profile) == Colour{253, 0, 0});
    CHECK(colour("colour_bt709_pc.mp4", profile) != Colour{255, 23, 0});
    const Frame grey = std::move(frames_of("grey_pc.mp4", profile).front());
    CHECK(at(grey, 30, 0) == Colour{0, 0, 0});
    CHECK(at(grey, 30, 255) == Colour{255, 255, 255});
    for (std::int64_t x = 0; x < 256; ++x) {
      const Colour value = at(grey, 30, x);
      if (value.red != value.green || value.green != value.blue) FAIL_CHECK("tinted at " << x);
    }
  }
  CHECK(record_of("colour_bt709_tv.mp4").video->colour == "matrix bt709, range tv, transfer bt709");
}

TEST_CASE("cover art is no clip") {
  const Clip clip(made("cover_first.mp4"));
  CHECK(clip.index.frame_count() == 4);
  CHECK(clip.container.stored_size() == ImageSize{64, 112});
  CHECK(kind_of_error([] { Clip(made("cover_only.m4a")); }) == ErrorKind::unreadable);
}

TEST_CASE("alpha of VP8 and VP9 comes out on white") {
  for (const char* name : {"alpha_vp8.webm", "alpha_vp9.webm"}) {
    CAPTURE(name);
    for (const Frame& frame : frames_of(name)) {
      CHECK(at(frame, 24, 8) == Colour{255, 255, 255});
      const Colour half = at(frame, 24, 56);
      CHECK(half.red > 245);
      CHECK(std::abs(half.green - 127) < 12);
      CHECK(std::abs(half.blue - 127) < 12);
    }
    CHECK(noted(record_of(name), "on white"));
  }
}

TEST_CASE("the last frames come out of the decoder") {
  CHECK(burnt_numbers("two_frames.mp4") == counted(0, 2));
  CHECK(burnt_numbers("three_frames.mp4") == counted(0, 3));
  CHECK(burnt_numbers("plain_26.mp4") == counted(0, 26));
}

TEST_CASE("frames that are never shown are not counted") {
  CHECK(burnt_numbers("vp8_hidden_frames.webm") == counted(0, 40));
}

TEST_CASE("a clip that does not begin at 0 is counted from its first frame") {
  for (const char* name : {"offset.ts", "offset.mp4"}) {
    CAPTURE(name);
    CHECK(burnt_numbers(name) == counted(0, 4));
    const ItemRecord record = record_of(name);
    CHECK(record.video->start_seconds > 1.3);
    CHECK(record.video->frames.front().seconds == 0.0);
    CHECK(record.video->frames.back().seconds == doctest::Approx(0.3));
  }
}

TEST_CASE("any frame by itself: leading pictures and intra refresh") {
  for (const char* name : {"hevc_cra.mp4", "intra_refresh.mp4"}) {
    CAPTURE(name);
    const Clip clip(made(name));
    const std::vector<std::int64_t> all = all_frames(clip.index);
    const auto expected = frame_digests(clip, all, Profile::vllm, Walk::sequential);
    for (std::size_t i = 0; i < all.size(); i += name[0] == 'h' ? 1 : 25) {
      CHECK(frame_digests(clip, {all[i]}, Profile::vllm).at(all[i]) == expected.at(all[i]));
    }
  }
  CHECK(burnt_numbers("hevc_cra.mp4") == counted(0, 90));
  const Clip clip(made("hevc_cra.mp4"));
  CHECK(plan_stretches(clip.index, std::vector<std::int64_t>{85}, Walk::seeking)[0].start > 60);
}

TEST_CASE("a clip whose frame size changes fails, in every walk") {
  for (const Profile profile : {Profile::vllm, Profile::hf}) {
    MediaOptions options;
    options.profile = profile;
    CHECK(kind_of_error([&] { record_of("size_changes.ts", options); }) == ErrorKind::unsupported);
  }
}

TEST_CASE("no duration, no count, no rate") {
  const ItemRecord live = record_of("live.webm");
  CHECK(live.video->frame_count == 24);
  CHECK(!live.video->header_frame_count);
  CHECK(live.video->fps.value() == doctest::Approx(20.0).epsilon(0.02));
  for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
    const ItemRecord one = record_of("one_without_rate.webm", {}, spec);
    CHECK(one.video->frames.size() == 1);
    CHECK((!one.video->fps || std::isfinite(*one.video->fps)));
  }
}

TEST_CASE("a variable rate: by number as the reference, by time on request") {
  const ItemRecord by_index = record_of("vfr_10_60.mp4");
  CHECK(by_index.video->frame_count == 140);
  CHECK(noted(by_index, "varies"));
  MediaOptions options;
  options.video.sample_by = SampleBy::time;
  for (const PixelSpec& spec : {qwen2_spec(), qwen3_spec()}) {
    const ItemRecord record = record_of("vfr_10_60.mp4", options, spec);
    std::vector<std::int64_t> indices;
    for (const SampledFrame& frame : record.video->frames) {
      indices.push_back(frame.index);
    }
    CHECK(indices == std::vector<std::int64_t>{0, 5, 10, 15, 20, 50, 80, 110});
  }
}

TEST_CASE("repeated timestamps: every frame once, in order") {
  CHECK(burnt_numbers("repeated_times.mkv") == counted(0, 10));
}

TEST_CASE("an odd clip equals the one with its last frame doubled") {
  MediaOptions options;
  options.video.num_frames = 3;
  const LoadedItem loaded =
      open_video_item(made("three_frames.mp4"), qwen3_spec(), options)->load();
  CHECK(loaded.patches.grids().at(0).t == 2);
  CHECK(loaded.record.video->frames.size() == 3);
}

TEST_CASE("animated WebP: every frame with its time, equal to its twin in PNG") {
  const MappedFile webp(made("animated.webp"));
  const auto clip = open_clip(webp.bytes(), {});
  CHECK(clip->facts().times.seconds == std::vector<double>{0.0, 0.1, 0.2, 0.3});
  CHECK(clip->facts().times.duration_seconds == doctest::Approx(0.4));
  std::vector<std::string> digests;
  const std::vector<std::int64_t> wanted = {0, 2, 3};
  CHECK(clip->decode(wanted,
                     [&](std::int64_t, const Frame& frame) {
                       digests.push_back(sha256_hex(frame.pixels.span()));
                     })
            .empty());
  std::vector<std::string> expected;
  const std::vector<Frame> twins = frames_of("animated_opaque.png");
  for (const std::int64_t i : wanted) {
    expected.push_back(sha256_hex(twins[static_cast<std::size_t>(i)].pixels.span()));
  }
  CHECK(digests == expected);
  CHECK(record_of("animated.webp").video->frame_count == 4);
}

TEST_CASE("a still declared to be a clip equals the picture, frame repeated") {
  for (const char* name : {"size_448x448_at_target.jpg", "exif_6.jpg", "png_rgba8.png",
                           "webp_lossy_alpha.webp", "gif_still.gif"}) {
    CAPTURE(name);
    PixelSpec spec = qwen2_spec();
    MediaOptions options;
    options.kind = MediaKind::video;
    const auto path = golden(std::string("media/images/") + name);
    const LoadedItem clip = MediaItem::open(path, spec, options)->load();
    options.kind = MediaKind::image;
    const LoadedItem picture = MediaItem::open(path, spec, options)->load();
    CHECK(clip.patches.grids().at(0).t == 1);
    CHECK(RawPatchWriter::sha256(clip.patches) == RawPatchWriter::sha256(picture.patches));
    // A GIF names a rate for its one frame; a picture has none, and none is made up.
    if (clip.record.format != "gif") CHECK(!clip.record.video->fps.has_value());
  }
}

TEST_CASE("broken stills are refused as clips with the same class") {
  const nlohmann::json expected = golden_json("media/bad/EXPECT.json");
  MediaOptions options;
  options.kind = MediaKind::video;
  for (const auto& [name, facts] : expected.items()) {
    CAPTURE(name);
    const ErrorKind kind = kind_of_error(
        [&] { (void)MediaItem::open(golden("media/bad/" + name), qwen3_spec(), options)->load(); });
    CHECK(to_string(kind) == facts.at("require").get<std::string>());
  }
}

TEST_CASE("what is a clip is seen from its bytes") {
  int clips = 0;
  for (const char* folder : {"made/video", "media/videos"}) {
    for (const auto& entry : std::filesystem::directory_iterator(golden(folder))) {
      const std::string name = entry.path().filename().string();
      const std::string ending = entry.path().extension().string();
      if (ending == ".sh" || name.starts_with("bad_") || name == "cover_only.m4a") continue;
      CAPTURE(name);
      const bool animation = ending == ".gif" || ending == ".png" || ending == ".webp";
      const auto item = MediaItem::open(entry.path(), qwen3_spec(), {});
      CHECK((item->header().kind == ItemKind::video) != animation);
      ++clips;
    }
  }
  CHECK(clips > 60);
}

TEST_CASE("program streams, raw frames and animated PNG") {
  CHECK(burnt_numbers("program_stream.mpg") == counted(0, 12));
  CHECK(burnt_numbers("three.y4m") == counted(0, 3));
  const std::vector<Frame> frames = frames_of("animated.png");
  CHECK(frames.size() == 4);
  for (const Frame& frame : frames) CHECK(at(frame, 20, 4) == Colour{255, 255, 255});
}
