#include "media/jpeg_half_height.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/byte_buffer.h"
#include "media/resize_kernels.h"

namespace vtower {
namespace {

std::uint8_t clamped(int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

// YCbCr to RGB with libjpeg's 16 fraction bits.
void to_rgb(const std::uint8_t* luma, const std::uint8_t* cb, const std::uint8_t* cr,
            std::size_t width, std::uint8_t* rgb) {
  constexpr int half = 1 << 15;
  for (std::size_t x = 0; x < width; ++x, rgb += 3) {
    const int blue = cb[x] - 128;
    const int red = cr[x] - 128;
    rgb[0] = clamped(luma[x] + ((91881 * red + half) >> 16));
    rgb[1] = clamped(luma[x] + ((-22554 * blue - 46802 * red + half) >> 16));
    rgb[2] = clamped(luma[x] + ((116130 * blue + half) >> 16));
  }
}

// The samples of one component at its own resolution.
struct Plane {
  std::size_t width = 0;   // with the padding to whole blocks
  std::size_t height = 0;  // without
  ByteBuffer samples;

  [[nodiscard]] std::uint8_t* row(std::size_t y) { return samples.data() + y * width; }
};

}  // namespace

bool has_half_height_chroma(const jpeg_decompress_struct& info) noexcept {
  return std::any_of(info.comp_info, info.comp_info + info.num_components,
                     [&](const jpeg_component_info& component) {
                       return component.h_samp_factor == info.max_h_samp_factor &&
                              component.v_samp_factor * 2 == info.max_v_samp_factor;
                     });
}

bool is_plain_half_height(const jpeg_decompress_struct& info) noexcept {
  if (info.num_components != 3 || info.jpeg_color_space != JCS_YCbCr) return false;
  const auto* part = info.comp_info;
  return part[0].h_samp_factor == info.max_h_samp_factor &&
         part[0].v_samp_factor == info.max_v_samp_factor && has_half_height_chroma(info) &&
         part[1].h_samp_factor == part[2].h_samp_factor &&
         part[1].v_samp_factor == part[2].v_samp_factor;
}

void decode_half_height(JpegSession& session, const LineSink& sink) {
  jpeg_decompress_struct& info = session.info();
  info.raw_data_out = TRUE;
  session.run([](jpeg_decompress_struct& call) { jpeg_start_decompress(&call); });
  const auto lines_at_once = static_cast<std::size_t>(info.max_v_samp_factor) * DCTSIZE;

  std::array<Plane, 3> planes;
  std::array<std::vector<JSAMPROW>, 3> rows;
  for (std::size_t c = 0; c < 3; ++c) {
    const jpeg_component_info& part = info.comp_info[c];
    const auto part_lines = static_cast<std::size_t>(part.v_samp_factor) * DCTSIZE;
    planes[c].width = std::size_t{part.width_in_blocks} * DCTSIZE;
    planes[c].height = part.downsampled_height;
    // libjpeg writes whole blocks, also below the last line.
    const std::size_t padded =
        (info.output_height + lines_at_once - 1) / lines_at_once * part_lines;
    planes[c].samples = ByteBuffer(planes[c].width * padded);
    rows[c].resize(part_lines);
  }
  for (std::size_t done = 0; info.output_scanline < info.output_height; ++done) {
    std::array<JSAMPARRAY, 3> arrays{};
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < rows[c].size(); ++i) {
        rows[c][i] = planes[c].row(done * rows[c].size() + i);
      }
      arrays[c] = rows[c].data();
    }
    session.run([&](jpeg_decompress_struct& call) {
      jpeg_read_raw_data(&call, arrays.data(), static_cast<JDIMENSION>(lines_at_once));
    });
  }

  const std::size_t width = info.output_width;
  ByteBuffer rgb(width * 3 + line_slack);
  std::memset(rgb.data(), 0, rgb.size());
  std::array<std::vector<std::uint8_t>, 2> chroma{std::vector<std::uint8_t>(width),
                                                  std::vector<std::uint8_t>(width)};
  for (std::size_t y = 0; y < info.output_height; ++y) {
    for (std::size_t c = 0; c < 2; ++c) {
      Plane& plane = planes[c + 1];
      const std::size_t near = y / 2;
      const std::size_t far =
          y % 2 == 0 ? near - std::min<std::size_t>(near, 1) : std::min(near + 1, plane.height - 1);
      for (std::size_t x = 0; x < width; ++x) {
        chroma[c][x] =
            static_cast<std::uint8_t>((3 * plane.row(near)[x] + plane.row(far)[x] + 1) >> 2);
      }
    }
    to_rgb(planes[0].row(y), chroma[0].data(), chroma[1].data(), width, rgb.data());
    sink(rgb.data());
  }
}

}  // namespace vtower
