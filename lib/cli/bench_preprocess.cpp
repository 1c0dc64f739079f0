#include "cli/bench_preprocess.h"

#include <jpeglib.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
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
void decode_bare(std::span<const std::uint8_t> file, std::vector<JSAMPLE>& pixels) {
  jpeg_error_mgr errors{};
  jpeg_decompress_struct info{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + std::size_t{info.output_scanline} * info.output_width *
                                       static_cast<std::size_t>(info.output_components);
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

Json bench_preprocess(const std::filesystem::path& file, const PixelSpec& spec,
                      const MediaOptions& options, int repeats) {
  ItemRecord record;
  const auto ours = [&] { record = MediaItem::open(file, spec, options)->load().record; };
  ours();
  Json row{{"axis", "preprocess"},
           {"input", file.filename().string()},
           {"decoded", {record.decoded.height, record.decoded.width}},
           {"resized", {record.resized.height, record.resized.width}}};
  if (record.format != "jpeg") {
    double best = 1e30;
    for (int i = 0; i < 10 * repeats; ++i) best = std::min(best, seconds_of(ours));
    row.update({{"seconds", best}, {"ceiling", nullptr}});
    return row;
  }
  const MappedFile bytes(file);
  std::vector<JSAMPLE> pixels(static_cast<std::size_t>(record.stored.height) *
                              static_cast<std::size_t>(record.stored.width) * 4);
  const Pair pair = time_in_turns(10 * repeats, ours, [&] { decode_bare(bytes.bytes(), pixels); });
  row.update({{"seconds", pair.ours},
              {"ceiling", "bare libjpeg-turbo decode"},
              {"ceiling_seconds", pair.ceiling},
              {"ratio", pair.ours / pair.ceiling}});
  return row;
}

Json bench_preprocess(int repeats) {
  const TemporaryFile file(compress(picture()));
  PixelSpec spec;
  spec.layout = {14, 2, 2};
  spec.image_limits = {3136, 12'845'056};
  spec.video_limits = spec.image_limits;
  Json row = bench_preprocess(file.path(), spec, MediaOptions{}, repeats);
  row["input"] = "made JPEG, quality 90";
  return row;
}

}  // namespace vtower::cli
