// Damaged and mutated clips: an error or, on request, the nearest clean frame; nothing else.
#include <cmath>
#include <fstream>
#include <random>

#include "media/video_item.h"
#include "support/temp_dir.h"
#include "unit/media/video_clips.h"
#include "unit/media/video_specs.h"

using namespace vtower;
using namespace vtower::test;

namespace {

std::string bytes_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::filesystem::path made(const std::string& name) {
  return golden("made/video/" + name);
}

// The file with packet `number` set to zero behind its first `kept` bytes, or its first quarter.
std::string with_zeroed_packet(const std::filesystem::path& path, std::size_t number,
                               std::size_t kept = 0) {
  std::string bytes = bytes_of(path);
  const Clip clip(path);
  VideoContainer container(clip.file.bytes(), no_cap);
  const PacketPtr packet = make_packet();
  for (std::size_t i = 0; i <= number; ++i) REQUIRE(container.read(*packet));
  const auto size = static_cast<std::size_t>(packet->size);
  if (kept == 0) kept = size / 4;
  const std::size_t at = static_cast<std::size_t>(packet->pos) + kept;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size - kept, '\0');
  return bytes;
}

MediaOptions taking_all(OnCorrupt policy) {
  MediaOptions options;
  options.profile = Profile::hf;
  options.video.on_corrupt = policy;
  return options;
}

std::vector<std::int64_t> replacements(const std::filesystem::path& path) {
  const LoadedItem loaded =
      open_video_item(path, qwen2_spec(), taking_all(OnCorrupt::nearest))->load();
  CHECK(loaded.record.video->frames.size() == 26);
  CHECK(loaded.patches.grids().at(0).t == 13);
  std::vector<std::int64_t> taken;
  for (const SampledFrame& frame : loaded.record.video->frames) {
    taken.push_back(frame.replaced_by.value_or(frame.index));
  }
  return taken;
}

std::vector<std::int64_t> run_of(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = first; i <= last; ++i) values.push_back(i);
  return values;
}

std::vector<std::int64_t> joined(std::vector<std::int64_t> a, std::int64_t repeated,
                                 std::size_t times, const std::vector<std::int64_t>& b) {
  a.insert(a.end(), times, repeated);
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("one damaged packet: the item fails, or its frame and its heirs are replaced") {
  const TempDir folder;
  // libavcodec does not notice wrong data behind an H.265 slice header, only a wrong header.
  for (const auto& [name, kept] : {std::pair{"plain_26.mp4", 0}, std::pair{"hevc_26.mp4", 6}}) {
    CAPTURE(name);
    const auto path =
        folder.write(name, with_zeroed_packet(made(name), 17, static_cast<std::size_t>(kept)));
    CHECK(kind_of_error([&] {
            (void)open_video_item(path, qwen2_spec(), taking_all(OnCorrupt::fail))->load();
          }) == ErrorKind::unreadable);
    CHECK(replacements(path) == joined(run_of(0, 16), 16, 9, {}));
  }
}

TEST_CASE("damage ends at the next key frame") {
  const TempDir folder;
  const auto middle = folder.write("m.mp4", with_zeroed_packet(made("two_keys_26.mp4"), 8));
  CHECK(replacements(middle) == joined(joined(run_of(0, 7), 7, 3, {}), 13, 2, run_of(13, 25)));
  const auto key = folder.write("k.mp4", with_zeroed_packet(made("two_keys_26.mp4"), 0));
  CHECK(replacements(key) == joined({}, 13, 13, run_of(13, 25)));
}

TEST_CASE("damage that no taken frame depends on does not fail the item") {
  const TempDir folder;
  const auto path = folder.write("x.mp4", with_zeroed_packet(made("plain_26.mp4"), 25));
  MediaOptions options;  // vllm-qwen2 takes 0, 6, 13, 19
  CHECK(open_video_item(path, qwen2_spec(), options)->load().record.video->frames.size() == 4);
}

TEST_CASE("when nothing is clean the item fails under every policy") {
  const TempDir folder;
  const auto path = folder.write("x.mp4", with_zeroed_packet(made("plain_26.mp4"), 0));
  CHECK(kind_of_error([&] {
          (void)open_video_item(path, qwen2_spec(), taking_all(OnCorrupt::nearest))->load();
        }) == ErrorKind::unreadable);
}

TEST_CASE("cut anywhere, every container says so or fails") {
  const TempDir folder;
  for (const char* name : {"plain_26.mp4", "vp8_hidden_frames.webm", "repeated_times.mkv",
                           "animated.png", "rotate_0.mp4"}) {
    const std::string whole = bytes_of(made(name));
    for (const double share : {0.0, 0.001, 0.1, 0.5, 0.9, 0.999}) {
      CAPTURE(name);
      CAPTURE(share);
      const auto size = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
      const auto path = folder.write("cut", whole.substr(0, size));
      const ErrorKind kind =
          kind_of_error([&] { (void)open_video_item(path, qwen2_spec(), {})->load(); });
      CHECK((kind == ErrorKind::truncated || kind == ErrorKind::unreadable));
      if (share >= 0.5) CHECK(kind == ErrorKind::truncated);
    }
  }
}

// Fixed seeds: flipped bytes, cuts, pieces moved and doubled. Only Error may come out, before the
// time limit of the test program. (Memory is bounded by the caps on pixels and frames; the
// sanitizers watch the rest.)
TEST_CASE("mutated clips end in frames or in an Error") {
  const TempDir folder;
  std::vector<std::string> seeds;
  for (const char* name : {"plain_26.mp4", "hevc_26.mp4", "vp8_hidden_frames.webm", "live.webm",
                           "alpha_vp9.webm", "offset.ts", "program_stream.mpg", "animated.png",
                           "repeated_times.mkv", "cover_first.mp4", "trimmed.mp4"}) {
    seeds.push_back(bytes_of(made(name)));
  }
  seeds.push_back(bytes_of(golden("media/videos/animated.gif")));
  seeds.push_back(bytes_of(golden("media/videos/mpeg4_part2.avi")));
  seeds.push_back(bytes_of(golden("media/videos/h264_fragmented.mp4")));

  std::mt19937 random(2024);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  MediaOptions options;
  options.max_image_pixels = 1 << 20;
  int failed = 0;
  int passed = 0;
  for (int round = 0; round < 420; ++round) {
    std::string bytes = seeds[static_cast<std::size_t>(round) % seeds.size()];
    switch (below(4)) {
      case 0:
        for (std::size_t k = 1 + below(20); k > 0; --k) {
          bytes[below(bytes.size())] = static_cast<char>(below(256));
        }
        break;
      case 1:  // in the headers, where the sizes are
        for (std::size_t k = 1 + below(6); k > 0; --k) {
          bytes[below(std::min<std::size_t>(bytes.size(), 600))] = static_cast<char>(below(256));
        }
        break;
      case 2: {
        const std::size_t from = below(bytes.size());
        bytes.erase(from, 1 + below(bytes.size() - from));
        break;
      }
      default: {
        const std::size_t from = below(bytes.size());
        const std::string piece = bytes.substr(from, 1 + below(bytes.size() - from));
        bytes.insert(below(bytes.size()), piece.substr(0, 4000));
        break;
      }
    }
    const auto path = folder.write("mutant", bytes);
    options.video.on_corrupt = round % 2 == 0 ? OnCorrupt::fail : OnCorrupt::nearest;
    options.profile = round % 3 == 0 ? Profile::hf : Profile::vllm;
    CAPTURE(round);
    try {
      const auto item =
          open_video_item(path, round % 2 == 0 ? qwen3_spec() : qwen2_spec(), options);
      const LoadedItem loaded = item->load();
      CHECK(loaded.patches.grids().at(0) == item->header().grid);
      ++passed;
    } catch (const Error&) {
      ++failed;
    }
  }
  CHECK(failed > 50);
  CHECK(passed > 50);
}
