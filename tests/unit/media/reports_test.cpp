// Faults of pictures that were met in public, each with the right value. The numbers are those of
// the collection of reports that the project started from.
#include "core/raw_patch_dump.h"
#include "media/media_item.h"
#include "media/resize.h"
#include "media/smart_resize.h"
#include "support/make_image.h"
#include "support/media_golden.h"
#include "support/temp_dir.h"

using namespace vtower;
using namespace vtower::test;

namespace {

using Pixel = std::array<int, 3>;

Frame decode(const std::string& file, Profile profile) {
  return decode_as({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, profile);
}

Pixel at(const Frame& frame, std::int64_t x, std::int64_t y) {
  const std::uint8_t* pixel = frame.row(y) + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

bool near(Pixel a, Pixel b, int levels) {
  for (std::size_t c = 0; c < 3; ++c) {
    if (std::abs(a[c] - b[c]) > levels) return false;
  }
  return true;
}

// Samples of a picture from a function of x and y that gives `channels` bytes.
template <typename Colour>
std::string paint(int width, int height, const Colour& colour) {
  std::string samples;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const int value : colour(x, y)) samples += static_cast<char>(value);
    }
  }
  return samples;
}

PixelSpec spec(std::int64_t patch_size) {
  PixelSpec result;
  result.layout = {patch_size, 2, 2};
  result.image_limits =
      patch_size == 14 ? PixelLimits{3136, 12845056} : PixelLimits{65536, 16777216};
  return result;
}

std::unique_ptr<const MediaItem> open(const std::filesystem::path& path, std::int64_t patch_size,
                                      std::int64_t cap = default_pixel_cap) {
  MediaOptions options;
  options.max_image_pixels = cap;
  return MediaItem::open(path, spec(patch_size), options);
}

}  // namespace

TEST_CASE("R1: EXIF orientation is applied, and not under hf") {
  // A red bar on the left, a green one at the bottom.
  const std::string samples = paint(640, 480, [](int x, int y) {
    return x < 80 ? Pixel{255, 0, 0} : y >= 400 ? Pixel{0, 255, 0} : Pixel{128, 128, 128};
  });
  std::string file = jpeg(640, 480, 3, samples, 95);
  file.insert(2, jpeg_segment(1, std::string("Exif\0\0", 6) + exif_block(6)));
  for (const Profile profile : {Profile::vllm, Profile::hf_pil}) {
    const Frame turned = decode(file, profile);
    CHECK(turned.size == ImageSize{640, 480});
    CHECK(near(at(turned, 240, 20), {255, 0, 0}, 6));  // the left bar is on top
    CHECK(near(at(turned, 20, 500), {0, 255, 0}, 6));  // the bottom one on the left
  }
  const Frame stored = decode(file, Profile::hf);
  CHECK(stored.size == ImageSize{480, 640});
  CHECK(near(at(stored, 20, 240), {255, 0, 0}, 6));
}

TEST_CASE("R2: every tag value, mirrored ones too; 0 and 9 count as 1") {
  constexpr int w = 6;
  constexpr int h = 4;
  const std::string samples = paint(w, h, [](int x, int y) {
    return Pixel{10 * x, 10 * y, x + y};
  });
  for (int tag = 0; tag <= 9; ++tag) {
    CAPTURE(tag);
    const Frame frame =
        decode(png(w, h, 2, 8, samples, png_chunk("eXIf", exif_block(tag))), Profile::vllm);
    const bool swapped = tag >= 5 && tag <= 8;
    REQUIRE(frame.size == (swapped ? ImageSize{w, h} : ImageSize{h, w}));
    for (int y = 0; y < frame.size.height; ++y) {
      for (int x = 0; x < frame.size.width; ++x) {
        // Where the tag's definition says that the upright pixel (x, y) is stored.
        int sx = x;
        int sy = y;
        if (swapped) std::swap(sx, sy);
        const bool mirror_x = tag == 2 || tag == 3 || tag == 7 || tag == 8;
        const bool mirror_y = tag == 3 || tag == 4 || tag == 6 || tag == 7;
        if (mirror_x) sx = w - 1 - sx;
        if (mirror_y) sy = h - 1 - sy;
        CHECK(at(frame, x, y) == Pixel{10 * sx, 10 * sy, sx + sy});
      }
    }
  }
}

TEST_CASE("R3: transparency is composited on white, or dropped") {
  const std::string samples = paint(2, 1, [](int x, int) {
    return x == 0 ? std::array{12, 34, 56, 0} : std::array{255, 0, 0, 128};
  });
  const std::string file = png(2, 1, 6, 8, samples);
  const Frame white = decode(file, Profile::vllm);
  CHECK(at(white, 0, 0) == Pixel{255, 255, 255});
  CHECK(at(white, 1, 0) == Pixel{255, 127, 127});
  for (const Profile profile : {Profile::hf, Profile::hf_pil}) {
    const Frame dropped = decode(file, profile);
    CHECK(at(dropped, 0, 0) == Pixel{12, 34, 56});
    CHECK(at(dropped, 1, 0) == Pixel{255, 0, 0});
  }
}

TEST_CASE("R4: 16-bit gray saturates, 16-bit colour keeps its high byte, hf refuses both") {
  const std::string gray = paint(256, 1, [](int x, int) { return std::array{x, x}; });  // 257 * x
  const std::string colour =
      paint(1, 1, [](int, int) { return std::array{0x12, 0xFF, 0x80, 0x00, 0xFF, 0xFE}; });
  for (const Profile profile : {Profile::vllm, Profile::hf_pil}) {
    const Frame frame = decode(png(256, 1, 0, 16, gray), profile);
    CHECK(at(frame, 0, 0) == Pixel{0, 0, 0});
    for (int x = 1; x < 256; ++x) CHECK(at(frame, x, 0) == Pixel{255, 255, 255});
    CHECK(at(decode(png(1, 1, 2, 16, colour), profile), 0, 0) == Pixel{0x12, 0x80, 0xFF});
  }
  CHECK(error_of([&] { decode(png(256, 1, 0, 16, gray), Profile::hf); }) == ErrorKind::unsupported);
  CHECK(error_of([&] { decode(png(1, 1, 2, 16, colour), Profile::hf); }) == ErrorKind::unsupported);
}

TEST_CASE("R5: cut files fail") {
  const std::string samples = paint(64, 48, [](int x, int y) {
    return Pixel{x * 4, y * 5, (x * y) % 256};
  });
  const std::string photo = jpeg(64, 48, 3, samples, 90);
  const std::string drawing = png(64, 48, 2, 8, samples);
  for (const Profile profile : all_profiles) {
    for (const std::string& cut :
         {photo.substr(0, photo.size() * 6 / 10), photo.substr(0, photo.size() - 5),
          drawing.substr(0, drawing.size() - 40)}) {
      CHECK(error_of([&] { decode(cut, profile); }) == ErrorKind::truncated);
    }
    CHECK(error_of([&] { decode("", profile); }) == ErrorKind::unreadable);
  }
}

TEST_CASE("R6: channel 0 is red and row 0 is the top") {
  const std::string samples = paint(32, 32, [](int x, int y) {
    return x < 16 && y < 16 ? Pixel{255, 0, 0} : Pixel{0, 0, 255};
  });
  for (const std::string& file : {png(32, 32, 2, 8, samples), jpeg(32, 32, 3, samples, 100)}) {
    for (const Profile profile : all_profiles) {
      const Frame frame = decode(file, profile);
      CHECK(near(at(frame, 3, 3), {255, 0, 0}, 3));
      CHECK(near(at(frame, 28, 3), {0, 0, 255}, 3));
      CHECK(near(at(frame, 3, 28), {0, 0, 255}, 3));
    }
  }
}

TEST_CASE("R7: gray of 1, 2 and 4 bits is stretched to 0..255") {
  for (const int depth : {1, 2, 4}) {
    const int levels = 1 << depth;
    const int width = 13;  // ends inside of a byte
    std::string line(static_cast<std::size_t>((width * depth + 7) / 8), '\0');
    for (int x = 0; x < width; ++x) {
      const int bit = x * depth;
      line[static_cast<std::size_t>(bit / 8)] = static_cast<char>(
          line[static_cast<std::size_t>(bit / 8)] | (x % levels) << (8 - depth - bit % 8));
    }
    for (const Profile profile : all_profiles) {
      const Frame frame = decode(png(width, 1, 0, depth, line), profile);
      for (int x = 0; x < width; ++x) CHECK(at(frame, x, 0)[0] == x % levels * 255 / (levels - 1));
    }
  }
}

TEST_CASE("R8: a colour profile changes nothing and is noted") {
  const std::string samples = paint(16, 16, [](int x, int y) { return Pixel{x * 16, y * 16, 99}; });
  const std::string plain = jpeg(16, 16, 3, samples, 90);
  std::string tagged = plain;
  tagged.insert(2, jpeg_segment(2, std::string("ICC_PROFILE\0\1\1Display P3", 24)));
  const TempDir folder;
  const LoadedItem a = open(folder.write("plain.jpg", plain), 14)->load();
  const LoadedItem b = open(folder.write("tagged.jpg", tagged), 14)->load();
  CHECK(RawPatchWriter::sha256(a.patches) == RawPatchWriter::sha256(b.patches));
  CHECK(a.record.notes.empty());
  CHECK(b.record.notes == std::vector<std::string>{"ICC profile ignored"});
}

TEST_CASE("R9: CMYK comes out neither inverted nor mixed up") {
  // Adobe's convention stores 255 - ink.
  const auto inks = [](int c, int m, int y, int k) {
    return jpeg(16, 16, 4,
                paint(16, 16,
                      [&](int, int) {
                        return std::array{255 - c, 255 - m, 255 - y, 255 - k};
                      }),
                100);
  };
  for (const Profile profile : all_profiles) {
    CHECK(near(at(decode(inks(0, 0, 0, 0), profile), 8, 8), {255, 255, 255}, 2));
    CHECK(near(at(decode(inks(255, 0, 0, 0), profile), 8, 8), {0, 255, 255}, 2));
    CHECK(near(at(decode(inks(0, 255, 0, 0), profile), 8, 8), {255, 0, 255}, 2));
    CHECK(near(at(decode(inks(0, 0, 255, 0), profile), 8, 8), {255, 255, 0}, 2));
    CHECK(near(at(decode(inks(0, 0, 0, 255), profile), 8, 8), {0, 0, 0}, 2));
  }
}

TEST_CASE("R11: animated files give their first frame, under hf an error") {
  for (const char* name : {"gif_animated.gif", "webp_animated.webp"}) {
    const auto path = golden("media/images") / name;
    CHECK(open(path, 14)->load().record.notes == std::vector<std::string>{"first of 3 frames"});
    MediaOptions options;
    options.profile = Profile::hf;
    CHECK(error_of([&] { MediaItem::open(path, spec(14), options); }) == ErrorKind::unsupported);
  }
}

TEST_CASE("R41: shrinking a fine pattern leaves its mean, in both backends") {
  const int side = 2000;
  const Frame board =
      decode(png(side, side, 2, 8,
                 paint(side, side,
                       [](int x, int y) {
                         return (x + y) % 2 == 0 ? Pixel{0, 0, 0} : Pixel{255, 255, 255};
                       })),
             Profile::vllm);
  for (const ResizeBackend backend : {ResizeBackend::torchvision, ResizeBackend::pillow}) {
    const Frame small = Resizer({side, side}, {224, 224}, Resample::bicubic, backend).resize(board);
    for (std::int64_t y = 0; y < 224; ++y) {
      for (std::int64_t x = 0; x < 224; ++x) {
        const int level = at(small, x, y)[0];  // without antialiasing: anything from 0 to 255
        if (level < 112 || level > 143) FAIL("level ", level, " at ", x, ", ", y);
      }
    }
  }
}

TEST_CASE("R42: overshoot is clipped, never wrapped") {
  const auto edge = [](int side) {
    return png(side, side, 2, 8, paint(side, side, [&](int x, int) {
                 return x < side / 2 ? Pixel{0, 0, 0} : Pixel{255, 255, 255};
               }));
  };
  const TempDir folder;
  for (const auto& [backend, kernel] : {std::pair{ResizeBackend::torchvision, Resample::bicubic},
                                        std::pair{ResizeBackend::pillow, Resample::bicubic},
                                        std::pair{ResizeBackend::pillow, Resample::lanczos}}) {
    for (const std::int64_t target : {112, 38}) {  // 1.75 and 0.6 times 64
      const Frame source = decode(edge(64), Profile::vllm);
      const Frame resized = Resizer({64, 64}, {target, target}, kernel, backend).resize(source);
      for (std::int64_t x = 0; x < target; ++x) {
        const int level = at(resized, x, target / 3)[0];
        CAPTURE(x);
        if (x < target / 2 - 1) CHECK(level < 64);
        if (x > target / 2) CHECK(level > 191);
      }
    }
  }
}

TEST_CASE("R43: one resize, and a picture resized before is another input") {
  const PixelLimits qwen2{3136, 12845056};
  const PixelLimits qwen3{65536, 16777216};
  for (const ImageSize size : {ImageSize{2187, 1695}, ImageSize{2184, 1708}}) {
    CHECK(smart_resize_frame(size, 28, qwen2) == ImageSize{156 * 14, 122 * 14});
    CHECK(smart_resize_frame(size, 32, qwen3) == ImageSize{136 * 16, 106 * 16});
  }
}

TEST_CASE("R103: a ratio of 200 is served, above the item fails from its header") {
  const auto gray = [](int width, int height) {
    return png(width, height, 0, 8, std::string(static_cast<std::size_t>(width * height), 'x'));
  };
  const TempDir folder;
  const auto longest = folder.write("200.png", gray(1000, 5));
  CHECK(open(longest, 14)->load().patches.grids()[0].tokens(2) == 29);
  CHECK(open(longest, 16)->load().patches.grids()[0].tokens(2) == 114);
  for (const auto& [width, height] : {std::pair{1093, 5}, std::pair{5, 1093}}) {
    const auto path = folder.write("over.png", gray(width, height));
    CHECK(error_of([&] { open(path, 14); }) == ErrorKind::aspect_ratio);
  }
}

TEST_CASE("R104: the type is found from the bytes, whatever the name") {
  const TempDir folder;
  for (const char* name : {"webp_lossy.webp", "webp_lossless.webp"}) {
    const auto disguised = folder.path() / "picture.png";
    std::filesystem::copy_file(golden("media/images") / name, disguised,
                               std::filesystem::copy_options::overwrite_existing);
    const LoadedItem loaded = open(disguised, 14)->load();
    CHECK(loaded.record.format == "webp");
    CHECK(loaded.patches.rows() > 0);
  }
  CHECK(error_of([&] { open(golden("media/bad/picture.avif"), 14); }) == ErrorKind::unsupported);
}

TEST_CASE("R108: bombs are refused from the header, and the named option lets a scan through") {
  const TempDir folder;
  const auto bomb = folder.write("bomb.png", png(20000, 20000, 0, 8, ""));
  // A small JPEG whose header says 16384 x 12288.
  std::string scan = jpeg(16, 16, 3, std::string(16 * 16 * 3, 'x'), 90);
  const std::size_t frame = scan.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  scan.replace(frame + 5, 4, big_endian(12288, 2) + big_endian(16384, 2));
  const auto large = folder.write("scan.jpg", scan);
  for (const auto& path : {bomb, large}) {
    try {
      open(path, 14);
      FAIL("expected an error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::too_large);
      CHECK(error.message().find("--max-image-pixels") != std::string::npos);
    }
    CHECK_NOTHROW(open(path, 14, 500'000'000));
  }
}
