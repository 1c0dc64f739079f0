// Files to patch rows through the one door, against the reference's rows.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "core/raw_patch_dump.h"
#include "media/media_item.h"
#include "support/media_golden.h"
#include "support/temp_dir.h"

using namespace vtower;
using namespace vtower::test;

namespace {

struct Limits {
  const char* file;  // of media/pixels
  std::int64_t patch_size;
  PixelLimits limits;
};

constexpr std::array all_limits = {
    Limits{"qwen2-hub", 14, {3136, 12845056}}, Limits{"qwen2-small", 14, {3136, 200704}},
    Limits{"qwen3-hub", 16, {65536, 16777216}}, Limits{"qwen3-small", 16, {65536, 262144}}};

PixelSpec spec_of(const Limits& limits) {
  return {.layout = {limits.patch_size, 2, 2},
          .resample = Resample::bicubic,
          .image_limits = limits.limits,
          .video_limits = limits.limits,
          .video_rule = VideoRule::qwen2,
          .do_sample_frames = {},
          .fps = {},
          .num_frames = {},
          .min_frames = {},
          .max_frames = {}};
}

MediaOptions options_of(Profile profile) {
  MediaOptions options;
  options.profile = profile;
  return options;
}

LoadedItem load(const std::filesystem::path& path, const Limits& limits, Profile profile) {
  return MediaItem::open(path, spec_of(limits), options_of(profile))->load();
}

// The bytes behind the header of a .npy file of version 1.
std::string npy_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(text.at(8))) |
                      static_cast<std::size_t>(static_cast<unsigned char>(text.at(9))) << 8;
  return text.substr(10 + length);
}

std::string rows_of(const RawPatches& patches, const TempDir& folder) {
  const RawPatches* part = &patches;
  RawPatchWriter::write(folder.path() / "rows", {&part, 1}, {});
  std::ifstream file(folder.path() / "rows", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string header = text.substr(8, text.find("}}") - 8 + 2);
  const auto offsets = nlohmann::json::parse(header)["pixels"]["data_offsets"];
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, text.data(), 8);
  return text.substr(8 + header_size + offsets[0].get<std::size_t>(),
                     offsets[1].get<std::size_t>() - offsets[0].get<std::size_t>());
}

}  // namespace

TEST_CASE("rows of every picture, profile and limit equal the reference's") {
  for (const Limits& limits : all_limits) {
    const nlohmann::json reference =
        golden_json("media/pixels/" + std::string(limits.file) + ".json");
    REQUIRE(reference["images"].size() == 87);
    int equal = 0;
    for (const auto& [name, profiles] : reference["images"].items()) {
      for (const Profile profile : all_profiles) {
        CAPTURE(limits.file);
        CAPTURE(name);
        CAPTURE(to_string(profile));
        const nlohmann::json& expected = profiles[std::string(to_string(profile))];
        const std::filesystem::path path = golden("media/images") / name;
        // Not bytes, or a picture per frame of a GIF: refused here.
        const bool no_rows = expected.contains("error") || expected.contains("not_uint8") ||
                             expected["grid_thw"].size() != 1;
        if (no_rows) {
          const auto kind = error_of([&] { load(path, limits, profile); });
          const bool ratio = expected.value("error", "") == "aspect_ratio";
          CHECK(kind == (ratio ? ErrorKind::aspect_ratio : ErrorKind::unsupported));
          continue;
        }
        const auto item = MediaItem::open(path, spec_of(limits), options_of(profile));
        const LoadedItem loaded = item->load();
        const auto& grid = expected["grid_thw"][0];
        CHECK(item->header().grid == GridThw{grid[0], grid[1], grid[2]});
        REQUIRE(loaded.patches.grids().size() == 1);
        CHECK(loaded.patches.grids()[0] == item->header().grid);
        CHECK(loaded.record.resized ==
              ImageSize{expected["resized"][0][0], expected["resized"][0][1]});
        CHECK(RawPatchWriter::sha256(loaded.patches) == expected["sha256_u8"]);
        ++equal;
      }
    }
    CHECK(equal == 246);
  }
}

TEST_CASE("the stored rows equal byte for byte") {
  const TempDir folder;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden("media/pixels/rows"))) {
    const std::string file = entry.path().filename();
    const std::size_t at = file.find("-small-vllm-");
    if (at == std::string::npos) continue;
    CAPTURE(file);
    std::string name = file.substr(at + 12, file.size() - at - 12 - 4);
    const std::size_t first = name.find("-first128");
    if (first != std::string::npos) name.erase(first);
    const Limits& limits = file.starts_with("qwen2") ? all_limits[1] : all_limits[3];
    const LoadedItem loaded = load(golden("media/images") / name, limits, Profile::vllm);
    const std::string rows = rows_of(loaded.patches, folder);
    const std::string expected = npy_bytes(entry.path());
    REQUIRE(rows.size() >= expected.size());
    CHECK((first != std::string::npos || rows.size() == expected.size()));
    CHECK(rows.compare(0, expected.size(), expected) == 0);
    ++compared;
  }
  CHECK(compared >= 12);
}

TEST_CASE("the record says what was found and done") {
  const LoadedItem turned =
      load(golden("media/images/exif_after_other_apps_8.jpg"), all_limits[0], Profile::vllm);
  CHECK(turned.record.kind == ItemKind::image);
  CHECK(turned.record.format == "jpeg");
  CHECK(turned.record.path == golden("media/images/exif_after_other_apps_8.jpg"));
  const MappedFile file(turned.record.path);
  CHECK(turned.record.sha256 == sha256_hex(file.bytes()));
  CHECK(turned.record.stored == ImageSize{44, 60});
  CHECK(turned.record.orientation == 8);
  CHECK(turned.record.orientation_applied);
  CHECK(turned.record.decoded == ImageSize{60, 44});
  CHECK(turned.record.notes == std::vector<std::string>{"ICC profile ignored"});
  CHECK_FALSE(turned.record.video.has_value());

  const LoadedItem stored =
      load(golden("media/images/exif_after_other_apps_8.jpg"), all_limits[0], Profile::hf);
  CHECK(stored.record.orientation == 8);
  CHECK_FALSE(stored.record.orientation_applied);
  CHECK(stored.record.decoded == ImageSize{44, 60});
  const auto notes = [](const char* name, Profile profile) {
    return load(golden("media/images") / name, all_limits[0], profile).record.notes;
  };
  using Notes = std::vector<std::string>;
  CHECK(notes("png_rgba8.png", Profile::vllm) == Notes{"transparency composited on white"});
  CHECK(notes("png_rgba8.png", Profile::hf_pil) == Notes{"transparency dropped"});
  CHECK(notes("gif_animated.gif", Profile::vllm) == Notes{"first of 3 frames"});
  CHECK(notes("png_gray16.png", Profile::vllm) == Notes{"16-bit gray saturated at 255"});
  CHECK(notes("png_gama.png", Profile::vllm) == Notes{"gamma ignored"});
  CHECK(notes("exif_mpo_two_pictures.jpg", Profile::hf) == Notes{"first picture of an MPO file"});
  CHECK(notes("png_animated.png", Profile::hf) == Notes{"default image of an animated PNG"});
}

TEST_CASE("every bad file ends in the error class that is required") {
  const nlohmann::json expectations = golden_json("media/bad/EXPECT.json");
  REQUIRE(expectations.size() == 25);
  for (const auto& [name, expected] : expectations.items()) {
    for (const Profile profile : all_profiles) {
      CAPTURE(name);
      CAPTURE(to_string(profile));
      const auto kind = error_of([&] { load(golden("media/bad") / name, all_limits[0], profile); });
      REQUIRE(kind.has_value());
      // Under hf, BMP and TIFF are refused as such before anything else of them matters.
      const bool never_read =
          profile == Profile::hf && (name == "bmp_cut.bmp" || name == "tiff_cut.tif");
      CHECK(to_string(*kind) ==
            (never_read ? "unsupported" : expected["require"].get<std::string>()));
    }
  }
}

TEST_CASE("a missing file and one without permission are unreadable") {
  const TempDir folder;
  CHECK(error_of([&] { load(folder.path() / "none.png", all_limits[0], Profile::vllm); }) ==
        ErrorKind::unreadable);
  const auto locked = folder.write("locked.png", "x");
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  if (::geteuid() != 0) {
    CHECK(error_of([&] { load(locked, all_limits[0], Profile::vllm); }) == ErrorKind::unreadable);
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // its shadow memory does not fit below a limit
TEST_CASE("image bombs are refused within a small memory limit") {
  for (const char* name : {"png_bomb_30000x30000.png", "jpeg_header_65500x65500.jpg"}) {
    CAPTURE(name);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const rlimit limit{256U << 20, 256U << 20};
      ::setrlimit(RLIMIT_AS, &limit);
      const auto kind =
          error_of([&] { load(golden("media/bad") / name, all_limits[0], Profile::vllm); });
      ::_exit(kind == ErrorKind::too_large ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}
#endif
