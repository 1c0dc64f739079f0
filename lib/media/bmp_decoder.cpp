// BMP: every header that Pillow reads, uncompressed, bit fields and run lengths.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/byte_buffer.h"
#include "core/error.h"
#include "media/bmp_header.h"
#include "media/byte_reader.h"
#include "media/image_decoder.h"
#include "media/pixels.h"
#include "media/resize_kernels.h"
#include "media/stb_bmp.h"

namespace vtower {
namespace {

// One line of stored bytes to RGBA.
void unpack_line(const BmpHeader& bmp, const std::uint8_t* in, std::uint8_t* out) {
  for (std::int64_t x = 0; x < bmp.size.width; ++x, out += 4) {
    out[3] = 255;
    if (bmp.bits <= 8) {
      const std::int64_t bit = x * bmp.bits;
      const int shift = static_cast<int>(8 - bmp.bits - bit % 8);
      const int index = in[bit / 8] >> shift & ((1 << bmp.bits) - 1);
      std::copy_n(bmp.palette[static_cast<std::size_t>(index)].begin(), 3, out);
    } else if (bmp.bits == 16) {
      const int pixel = in[2 * x] | in[2 * x + 1] << 8;
      const int green_bits = bmp.five_six_five ? 6 : 5;
      const int green_max = (1 << green_bits) - 1;
      out[0] = static_cast<std::uint8_t>((pixel >> (5 + green_bits) & 31) * 255 / 31);
      out[1] = static_cast<std::uint8_t>((pixel >> 5 & green_max) * 255 / green_max);
      out[2] = static_cast<std::uint8_t>((pixel & 31) * 255 / 31);
    } else {
      const std::uint8_t* pixel = in + x * bmp.bits / 8;
      for (std::size_t c = 0; c < 3; ++c) out[c] = pixel[bmp.byte_of[c]];
      if (bmp.alpha_byte) out[3] = pixel[*bmp.alpha_byte];
    }
  }
}

// Run-length coded indices, bottom line first, one byte per pixel. Throws Error{truncated} where
// they end before the picture is full, as Pillow does.
ByteBuffer expand_runs(const BmpHeader& bmp, std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes, ByteOrder::little, "bmp");
  reader.seek(bmp.data_offset);
  const auto width = static_cast<std::size_t>(bmp.size.width);
  const auto total = static_cast<std::size_t>(bmp.size.pixels());
  const bool nibbles = bmp.coding == BmpCoding::rle4;
  ByteBuffer indices(total);
  std::size_t done = 0;
  std::size_t x = 0;
  const auto put = [&](std::uint8_t index) {
    if (done < total) indices.data()[done++] = index;
  };
  const auto put_zeros = [&](std::size_t count) {
    for (count = std::min(count, total - done); count > 0; --count) put(0);
  };
  while (done < total) {
    const std::uint8_t count = reader.u8();
    const std::uint8_t value = reader.u8();
    if (count > 0) {  // a run, cut at the end of its line
      const std::size_t run = std::min<std::size_t>(count, width - std::min(x, width));
      for (std::size_t i = 0; i < run; ++i) {
        put(!nibbles ? value : i % 2 == 0 ? value >> 4 : value & 15);
      }
      x += run;
    } else if (value == 0) {  // end of line
      put_zeros((width - done % width) % width);
      x = 0;
    } else if (value == 1) {
      throw Error(ErrorKind::truncated, "bmp",
                  "the run-length data end after " + std::to_string(done) + " of " +
                      std::to_string(total) + " pixels");
    } else if (value == 2) {  // move right and up
      const std::size_t right = reader.u8();
      const std::size_t up = reader.u8();
      put_zeros(right + up * width);
      x = done % width;
    } else {  // `value` pixels as they are, padded to 16 bits
      const std::size_t literal = std::min<std::size_t>(value, total - done);
      const std::size_t stored = nibbles ? (literal + 1) / 2 : literal;
      const auto pixels = reader.take(stored);
      for (std::size_t i = 0; i < literal; ++i) {
        put(!nibbles ? pixels[i] : i % 2 == 0 ? pixels[i / 2] >> 4 : pixels[i / 2] & 15);
      }
      x += value;
      if (done < total && reader.position() % 2 != 0) reader.take(1);
    }
  }
  return indices;
}

class BmpDecoder : public ImageDecoder {
 public:
  explicit BmpDecoder(const ImageSource& source) : source_(source) {
    if (source.profile == Profile::hf) {
      throw Error(ErrorKind::unsupported, "bmp",
                  "torchvision does not read BMP; the profiles vllm and hf-pil do");
    }
    bmp_ = read_bmp_header(source.bytes);
    check_image_size(bmp_.size, source.max_image_pixels, "bmp");
    header_.format = "bmp";
    header_.stored = bmp_.size;
    if (bmp_.alpha_byte) header_.notes.emplace_back(alpha_note(source.alpha_policy()));
  }

  std::vector<std::string> decode(const LineSink& sink) const override {
    BmpHeader bmp = bmp_;
    ByteBuffer runs;
    std::span<const std::uint8_t> data;
    std::size_t stride = static_cast<std::size_t>((bmp.size.width * bmp.bits + 31) / 32 * 4);
    if (bmp.coding == BmpCoding::raw) {
      ByteReader reader(source_.bytes, ByteOrder::little, "bmp");
      reader.seek(bmp.data_offset);
      data = reader.take(stride * static_cast<std::size_t>(bmp.size.height));
      if (bmp.bits == 24) return decode_24_bits(sink);
    } else {
      runs = expand_runs(bmp, source_.bytes);
      data = runs.span();
      stride = static_cast<std::size_t>(bmp.size.width);
      bmp.bits = 8;
    }
    const auto width = static_cast<std::size_t>(bmp.size.width);
    ByteBuffer rgba(width * 4);
    ByteBuffer rgb(width * 3 + line_slack);
    std::memset(rgb.data(), 0, rgb.size());
    for (std::int64_t y = 0; y < bmp.size.height; ++y) {
      const std::int64_t stored_y = bmp.top_down ? y : bmp.size.height - 1 - y;
      unpack_line(bmp, data.data() + static_cast<std::size_t>(stored_y) * stride, rgba.data());
      rgba_to_rgb(rgba.data(), bmp.size.width, source_.alpha_policy(), rgb.data());
      sink(rgb.data());
    }
    return {};
  }

 private:
  // The common layout; all its lines were found to be there.
  std::vector<std::string> decode_24_bits(const LineSink& sink) const {
    const StbPixels pixels = decode_bmp_by_stb(source_.bytes, bmp_.size);
    const auto width = static_cast<std::size_t>(bmp_.size.width);
    ByteBuffer line(width * 3 + line_slack);
    std::memset(line.data(), 0, line.size());
    for (std::size_t y = 0; y < static_cast<std::size_t>(bmp_.size.height); ++y) {
      std::memcpy(line.data(), pixels.get() + y * width * 3, width * 3);
      sink(line.data());
    }
    return {};
  }

  ImageSource source_;
  BmpHeader bmp_;
};

}  // namespace

std::unique_ptr<const ImageDecoder> open_bmp(const ImageSource& source) {
  return std::make_unique<BmpDecoder>(source);
}

}  // namespace vtower
