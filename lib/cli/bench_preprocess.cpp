#include "cli/bench_preprocess.h"

#include <jpeglib.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/bench_timing.h"
#include "core/file.h"
#include "media/media_item.h"

namespace vtower::cli {
namespace {

constexpr int side = 1024;
constexpr int quality = 90;

// Something like a photograph: broad shapes, texture and a little noise.
std::vector<JSAMPLE> picture() {
  std::vector<JSAMPLE> pixels(std::size_t{side} * side * 3);
  std::uint32_t state = 7;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      for (int c = 0; c < 3; ++c) {
        state = state * 1664525U + 1013904223U;
        const double value = 128 + 60 * std::sin(x * 0.011 + c) * std::cos(y * 0.007 * (c + 1)) +
                             22 * std::sin(x * 0.23 + y * 0.31) + 10 * std::sin(x * 0.9) +
                             static_cast<double>(state >> 29);
        pixels[(static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)) * 3 +
               static_cast<std::size_t>(c)] = static_cast<JSAMPLE>(value);
      }
    }
  }
  return pixels;
}

std::vector<std::uint8_t> compress(std::vector<JSAMPLE> pixels) {
  jpeg_error_mgr errors{};
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = side;
  info.image_height = side;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = pixels.data() + std::size_t{info.next_scanline} * side * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::vector<std::uint8_t> file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

// libjpeg-turbo's decode and nothing else.
void decode_bare(const std::vector<std::uint8_t>& file, std::vector<JSAMPLE>& pixels) {
  jpeg_error_mgr errors{};
  jpeg_decompress_struct info{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + std::size_t{info.output_scanline} * side * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

// A file that is gone with its owner.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<std::uint8_t>& bytes)
      : path_(std::filesystem::temp_directory_path() /
              ("vtower-bench-" + std::to_string(std::hash<const void*>{}(this)) + ".jpg")) {
    AtomicFile file(path_);
    file.write({bytes.data(), bytes.size()});
    file.commit();
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

Json bench_preprocess(int repeats) {
  std::vector<JSAMPLE> pixels = picture();
  const std::vector<std::uint8_t> bytes = compress(pixels);
  const TemporaryFile file(bytes);
  PixelSpec spec;
  spec.layout = {14, 2, 2};
  spec.image_limits = {3136, 12'845'056};
  spec.video_limits = spec.image_limits;
  ImageSize resized;
  const Pair pair = time_in_turns(
      10 * repeats,
      [&] { resized = MediaItem::open(file.path(), spec, MediaOptions{})->load().record.resized; },
      [&] { decode_bare(bytes, pixels); });
  return {{"axis", "preprocess"},
          {"input", "JPEG 1024x1024, quality 90"},
          {"bytes", bytes.size()},
          {"resized", {resized.height, resized.width}},
          {"seconds", pair.ours},
          {"ceiling", "bare libjpeg-turbo decode"},
          {"ceiling_seconds", pair.ceiling},
          {"ratio", pair.ours / pair.ceiling}};
}

}  // namespace vtower::cli
