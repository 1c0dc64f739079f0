// TIFF by libtiff: the first picture, in the sample layouts that Pillow reads, without the exotic
// ones.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/byte_buffer.h"
#include "core/error.h"
#include "media/image_decoder.h"
#include "media/orientation.h"
#include "media/pixels.h"
#include "media/resize_kernels.h"
#include "media/tiff_session.h"

namespace vtower {
namespace {

enum class ExtraSample { none, unused, premultiplied, alpha };

struct TiffLayout {
  ImageSize size;
  std::uint16_t bits = 1;
  std::uint16_t samples = 1;
  std::uint16_t photometric = PHOTOMETRIC_MINISWHITE;
  ExtraSample extra = ExtraSample::none;
  bool separate = false;  // samples in planes of their own

  [[nodiscard]] int colours() const noexcept {
    return photometric == PHOTOMETRIC_SEPARATED                                 ? 4
           : photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR ? 3
                                                                                : 1;
  }
  [[nodiscard]] bool has_alpha() const noexcept {
    return extra == ExtraSample::alpha || extra == ExtraSample::premultiplied;
  }
};

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(ErrorKind::unsupported, "tiff", what);
}

ExtraSample extra_sample(const TiffSession& session, int surplus) {
  if (surplus == 0) return ExtraSample::none;
  std::uint16_t count = 0;
  std::uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(session.tiff(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
  if (surplus > 1 || count > 1) unsupported("more than one extra sample per pixel");
  // A fourth sample that nothing explains is alpha for Pillow.
  if (count == 0 || session.extra_samples_unnamed()) return ExtraSample::alpha;
  switch (kinds[0]) {
    case EXTRASAMPLE_UNSPECIFIED: return ExtraSample::unused;
    case EXTRASAMPLE_ASSOCALPHA: return ExtraSample::premultiplied;
    default: return ExtraSample::alpha;
  }
}

TiffLayout layout_of(const TiffSession& session) {
  TiffLayout layout;
  layout.size = {session.tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0),
                 session.tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0)};
  layout.bits = session.tag<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = session.tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.photometric = session.tag<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
  layout.separate = session.tag<std::uint16_t>(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) ==
                    PLANARCONFIG_SEPARATE;
  const auto format = session.tag<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const auto compression = session.tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  if (format != SAMPLEFORMAT_UINT) unsupported("samples that are no unsigned integers");
  const bool jpeg_ycbcr = layout.photometric == PHOTOMETRIC_YCBCR &&
                          compression == COMPRESSION_JPEG && !layout.separate;
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_PALETTE:
    case PHOTOMETRIC_SEPARATED: break;
    case PHOTOMETRIC_YCBCR:
      if (jpeg_ycbcr) break;
      [[fallthrough]];
    default: unsupported("photometric interpretation " + std::to_string(layout.photometric));
  }
  const int surplus = layout.samples - layout.colours();
  if (surplus < 0) {
    throw Error(ErrorKind::unreadable, "tiff",
                std::to_string(layout.samples) + " samples per pixel: expected at least " +
                    std::to_string(layout.colours()));
  }
  layout.extra = extra_sample(session, surplus);
  const bool small = layout.bits == 1 || layout.bits == 2 || layout.bits == 4;
  const bool deep = layout.bits == 16;
  if (layout.bits != 8 && !(small && layout.samples == 1) &&
      !(deep && layout.photometric != PHOTOMETRIC_PALETTE &&
        (layout.colours() > 1 || layout.samples == 1))) {
    unsupported(std::to_string(layout.bits) + " bits per sample with " +
                std::to_string(layout.samples) + " samples");
  }
  if (layout.photometric == PHOTOMETRIC_SEPARATED && layout.has_alpha()) {
    unsupported("CMYK with alpha");
  }
  if (layout.colours() == 1 && layout.extra == ExtraSample::premultiplied) {
    unsupported("gray with premultiplied alpha");
  }
  return layout;
}

// Sample `s` of pixel `x` as bytes of 8 bits; 16-bit gray saturates, other 16-bit samples give
// their high byte.
std::uint8_t sample_at(const std::uint8_t* line, std::int64_t x, std::int64_t per_pixel,
                       std::int64_t s, const TiffLayout& layout) {
  const std::int64_t at = x * per_pixel + s;
  if (layout.bits == 8) return line[at];
  if (layout.bits == 16) {
    std::uint16_t value;  // libtiff hands out native order
    std::memcpy(&value, line + 2 * at, sizeof(value));
    if (layout.colours() > 1) return static_cast<std::uint8_t>(value >> 8);
    return static_cast<std::uint8_t>(std::min<int>(value, 255));
  }
  const std::int64_t bit = at * layout.bits;
  const int shift = static_cast<int>(8 - layout.bits - bit % 8);
  return static_cast<std::uint8_t>(line[bit / 8] >> shift & ((1 << layout.bits) - 1));
}

// Lines of the picture as libtiff stores them: strips or tiles, interleaved or in planes.
class TiffLines {
 public:
  TiffLines(const TiffSession& session, const TiffLayout& layout)
      : session_(session), layout_(layout), planes_(layout.separate ? layout.samples : 1) {
    TIFF* tiff = session.tiff();
    tiled_ = TIFFIsTiled(tiff) != 0;
    if (tiled_) {
      tile_width_ = session.tag<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
      rows_ = session.tag<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
      across_ = tile_width_ > 0 ? (layout.size.width + tile_width_ - 1) / tile_width_ : 0;
      line_bytes_ = TIFFTileRowSize(tiff);
      block_bytes_ = TIFFTileSize(tiff);
    } else {
      tile_width_ = layout.size.width;
      rows_ = std::min<std::int64_t>(session.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, 0),
                                     layout.size.height);
      across_ = 1;
      line_bytes_ = TIFFScanlineSize(tiff);
      block_bytes_ = TIFFStripSize(tiff);
    }
    const std::int64_t samples = layout.separate ? 1 : layout.samples;
    const bool sound = rows_ > 0 && across_ > 0 && line_bytes_ > 0 && block_bytes_ > 0 &&
                       line_bytes_ >= (tile_width_ * samples * layout.bits + 7) / 8 &&
                       block_bytes_ >= line_bytes_ * rows_;
    if (!sound) throw Error(ErrorKind::unreadable, "tiff", "strips or tiles of impossible size");
    // Tiles may be much larger than the picture; strips hold its own lines.
    if (block_bytes_ / rows_ > 64 * (layout.size.width + 4096) || block_bytes_ > largest_block) {
      throw Error(ErrorKind::too_large, "tiff",
                  "strips or tiles of " + std::to_string(block_bytes_) + " bytes");
    }
    blocks_ = ByteBuffer(static_cast<std::size_t>(block_bytes_ * across_ * planes_));
  }

  // Loads the blocks that hold line y; call with y rising from 0.
  void advance(std::int64_t y) {
    row_ = y % rows_;
    if (row_ != 0) return;
    for (std::int64_t plane = 0; plane < planes_; ++plane) {
      for (std::int64_t i = 0; i < across_; ++i) load(plane, i, y);
    }
  }

  [[nodiscard]] std::uint8_t sample(std::int64_t x, std::int64_t s) const {
    const std::int64_t tile = x / tile_width_;
    const std::int64_t plane = layout_.separate ? s : 0;
    const std::uint8_t* line = block(plane, tile) + row_ * line_bytes_;
    return layout_.separate ? sample_at(line, x % tile_width_, 1, 0, layout_)
                            : sample_at(line, x % tile_width_, layout_.samples, s, layout_);
  }

 private:
  static constexpr std::int64_t largest_block = std::int64_t{1} << 30;

  [[nodiscard]] std::uint8_t* block(std::int64_t plane, std::int64_t i) {
    return blocks_.data() + (plane * across_ + i) * block_bytes_;
  }
  [[nodiscard]] const std::uint8_t* block(std::int64_t plane, std::int64_t i) const {
    return blocks_.data() + (plane * across_ + i) * block_bytes_;
  }

  void load(std::int64_t plane, std::int64_t i, std::int64_t y) {
    TIFF* tiff = session_.tiff();
    const auto sample = static_cast<std::uint16_t>(plane);
    std::int64_t got = 0;
    std::int64_t needed = block_bytes_;
    if (tiled_) {
      got = TIFFReadEncodedTile(tiff,
                                TIFFComputeTile(tiff, static_cast<std::uint32_t>(i * tile_width_),
                                                static_cast<std::uint32_t>(y), 0, sample),
                                block(plane, i), block_bytes_);
    } else {
      needed = std::min(rows_, layout_.size.height - y) * line_bytes_;
      got =
          TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, static_cast<std::uint32_t>(y), sample),
                               block(plane, i), needed);
    }
    if (got < 0) session_.fail();
    if (got < needed) {
      throw Error(ErrorKind::truncated, "tiff",
                  "the data of line " + std::to_string(y) + " end early");
    }
  }

  const TiffSession& session_;
  const TiffLayout& layout_;
  std::int64_t planes_;
  bool tiled_ = false;
  std::int64_t tile_width_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t across_ = 0;
  std::int64_t line_bytes_ = 0;
  std::int64_t block_bytes_ = 0;
  std::int64_t row_ = 0;
  ByteBuffer blocks_;
};

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

Palette palette_of(const TiffSession& session, const TiffLayout& layout) {
  Palette palette{};
  std::uint16_t* red = nullptr;
  std::uint16_t* green = nullptr;
  std::uint16_t* blue = nullptr;
  if (TIFFGetField(session.tiff(), TIFFTAG_COLORMAP, &red, &green, &blue) == 0) {
    throw Error(ErrorKind::unreadable, "tiff", "a palette picture without a palette");
  }
  for (std::size_t i = 0; i < std::size_t{1} << layout.bits; ++i) {
    palette[i] = {static_cast<std::uint8_t>(red[i] >> 8), static_cast<std::uint8_t>(green[i] >> 8),
                  static_cast<std::uint8_t>(blue[i] >> 8)};
  }
  return palette;
}

std::uint8_t unmultiplied(std::uint8_t value, std::uint8_t alpha) {
  if (alpha == 0 || alpha == 255) return alpha == 0 ? 0 : value;
  return static_cast<std::uint8_t>(std::min(255, value * 255 / alpha));
}

class TiffDecoder : public ImageDecoder {
 public:
  explicit TiffDecoder(const ImageSource& source) : source_(source) {
    if (source.profile == Profile::hf) {
      throw Error(ErrorKind::unsupported, "tiff",
                  "torchvision does not read TIFF; the profiles vllm and hf-pil do");
    }
    const TiffSession session(source.bytes);
    const TiffLayout layout = layout_of(session);
    header_.format = "tiff";
    header_.stored = layout.size;
    check_image_size(layout.size, source.max_image_pixels, "tiff");
    std::uint16_t orientation = 0;
    std::uint32_t xmp_size = 0;
    void* xmp = nullptr;
    if (TIFFGetField(session.tiff(), TIFFTAG_ORIENTATION, &orientation) != 0) {
      header_.orientation = orientation;
    } else if (TIFFGetField(session.tiff(), TIFFTAG_XMLPACKET, &xmp_size, &xmp) != 0) {
      header_.orientation = xmp_orientation({static_cast<const char*>(xmp), xmp_size});
    }
    std::uint32_t icc_size = 0;
    void* icc = nullptr;
    if (TIFFGetField(session.tiff(), TIFFTAG_ICCPROFILE, &icc_size, &icc) != 0) {
      header_.notes.emplace_back("ICC profile ignored");
    }
    if (layout.bits == 16) {
      header_.notes.emplace_back(layout.colours() == 1
                                     ? "16-bit gray saturated at 255"
                                     : "16-bit samples reduced to their high byte");
    }
    if (layout.has_alpha()) header_.notes.emplace_back(alpha_note(source.alpha_policy()));
    if (layout.colours() == 4) header_.notes.emplace_back("CMYK converted without a profile");
    if (TIFFLastDirectory(session.tiff()) == 0)
      header_.notes.emplace_back("first of several pictures");
  }

  std::vector<std::string> decode(const LineSink& sink) const override {
    const TiffSession session(source_.bytes);
    const TiffLayout layout = layout_of(session);
    if (layout.photometric == PHOTOMETRIC_YCBCR) {
      TIFFSetField(session.tiff(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    }
    const Palette palette =
        layout.photometric == PHOTOMETRIC_PALETTE ? palette_of(session, layout) : Palette{};
    TiffLines lines(session, layout);
    const auto width = static_cast<std::size_t>(layout.size.width);
    ByteBuffer four(width * 4);
    ByteBuffer rgb(width * 3 + line_slack);
    std::memset(rgb.data(), 0, rgb.size());
    for (std::int64_t y = 0; y < layout.size.height; ++y) {
      lines.advance(y);
      for (std::int64_t x = 0; x < layout.size.width; ++x) {
        convert(lines, layout, palette, x, four.data() + 4 * x);
      }
      if (layout.photometric == PHOTOMETRIC_SEPARATED) {
        cmyk_to_rgb(four.data(), layout.size.width, rgb.data());
      } else {
        rgba_to_rgb(four.data(), layout.size.width, source_.alpha_policy(), rgb.data());
      }
      sink(rgb.data());
    }
    return {};
  }

 private:
  // One pixel to RGBA, or to CMYK.
  static void convert(const TiffLines& lines, const TiffLayout& layout, const Palette& palette,
                      std::int64_t x, std::uint8_t* out) {
    const int colours = layout.colours();
    out[3] = 255;
    for (int c = 0; c < colours; ++c) out[c] = lines.sample(x, c);
    if (layout.has_alpha()) out[3] = lines.sample(x, colours);
    if (layout.photometric == PHOTOMETRIC_PALETTE) {
      std::copy_n(palette[out[0]].begin(), 3, out);
    } else if (colours == 1) {
      const int scale = layout.bits < 8 ? 255 / ((1 << layout.bits) - 1) : 1;
      const int level = out[0] * scale;
      const bool inverted = layout.photometric == PHOTOMETRIC_MINISWHITE && layout.bits <= 8;
      out[0] = out[1] = out[2] = static_cast<std::uint8_t>(inverted ? 255 - level : level);
    }
    if (layout.extra == ExtraSample::premultiplied) {
      for (int c = 0; c < 3; ++c) out[c] = unmultiplied(out[c], out[3]);
    }
  }

  ImageSource source_;
};

}  // namespace

std::unique_ptr<const ImageDecoder> open_tiff(const ImageSource& source) {
  return std::make_unique<TiffDecoder>(source);
}

}  // namespace vtower
