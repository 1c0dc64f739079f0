// PNG by libpng, every checksum enforced, samples converted as Pillow or torchvision do it.
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "core/byte_buffer.h"
#include "core/error.h"
#include "media/image_decoder.h"
#include "media/pixels.h"
#include "media/png_chunks.h"
#include "media/resize_kernels.h"

namespace vtower {
namespace {

// libpng as an object: memory source, errors as exceptions.
class PngSession {
 public:
  explicit PngSession(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error(ErrorKind::memory, "png", "no memory for the decoder");
    }
    png_set_read_fn(png_, this, on_read);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the cap is on the area
    // Nothing of these changes a pixel here; their checksums are still verified.
    static constexpr png_byte ignored[] =
        "bKGD\0cHRM\0cICP\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0"
        "sRGB\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, ignored, sizeof(ignored) / 5);
  }
  ~PngSession() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngSession(const PngSession&) = delete;
  PngSession& operator=(const PngSession&) = delete;

  [[nodiscard]] png_structp png() const noexcept { return png_; }
  [[nodiscard]] png_infop info() const noexcept { return info_; }

  // Runs calls into libpng and throws Error where they fail. They must not own anything: an error
  // leaves them by longjmp.
  template <typename Call>
  void run(Call call) {
    if (setjmp(escape_) != 0) throw_error();
    call(png_, info_);
  }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngSession*>(png_get_error_ptr(png));
    std::strncpy(self->message_.data(), message, self->message_.size() - 1);
    std::longjmp(self->escape_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep out, std::size_t count) {
    auto* self = static_cast<PngSession*>(png_get_io_ptr(png));
    if (count > self->bytes_.size()) png_error(png, "Not enough bytes in the file");
    std::memcpy(out, self->bytes_.data(), count);
    self->bytes_ = self->bytes_.subspan(count);
  }
  [[noreturn]] void throw_error() const {
    const std::string_view message = message_.data();
    // libpng's words for data that end early are "Not enough image data" and "... compressed data".
    const bool ends_early = message.find("Not enough") != std::string_view::npos;
    throw Error(ends_early ? ErrorKind::truncated : ErrorKind::unreadable, "png",
                std::string(message));
  }

  std::span<const std::uint8_t> bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf escape_;
  std::array<char, 128> message_{};
};

struct Rgba {
  std::uint8_t red, green, blue, alpha;
};

// Colour and transparency of a picture, in the form that lines are converted with.
struct Colours {
  int type = 0;
  int depth = 0;
  std::array<Rgba, 256> palette{};
  std::optional<std::array<std::uint8_t, 3>> key;  // the colour that counts as clear
};

// Pillow compares a colour key with its own 8-bit samples, not with those of the file: 1-bit keys
// as 0 or 255, all others by their low byte.
std::optional<std::array<std::uint8_t, 3>> colour_key(png_structp png, png_infop info, int type,
                                                      int depth) {
  png_bytep alpha = nullptr;
  int count = 0;
  png_color_16p key = nullptr;
  if (type == PNG_COLOR_TYPE_PALETTE || png_get_tRNS(png, info, &alpha, &count, &key) == 0) {
    return std::nullopt;
  }
  const auto low = [](png_uint_16 value) { return static_cast<std::uint8_t>(value & 255); };
  if (type == PNG_COLOR_TYPE_RGB) return std::array{low(key->red), low(key->green), low(key->blue)};
  const std::uint8_t gray = depth == 1 ? (key->gray != 0 ? 255 : 0) : low(key->gray);
  return std::array{gray, gray, gray};
}

Colours colours_of(png_structp png, png_infop info) {
  Colours colours;
  colours.type = png_get_color_type(png, info);
  colours.depth = png_get_bit_depth(png, info);
  colours.key = colour_key(png, info, colours.type, colours.depth);
  colours.palette.fill({0, 0, 0, 255});  // also what indices beyond the palette show
  png_colorp entries = nullptr;
  int count = 0;
  if (png_get_PLTE(png, info, &entries, &count) != 0) {
    for (int i = 0; i < count; ++i) {
      colours.palette[static_cast<std::size_t>(i)] = {entries[i].red, entries[i].green,
                                                      entries[i].blue, 255};
    }
  }
  png_bytep alpha = nullptr;
  png_color_16p unused = nullptr;
  if (colours.type == PNG_COLOR_TYPE_PALETTE &&
      png_get_tRNS(png, info, &alpha, &count, &unused) != 0) {
    for (int i = 0; i < count; ++i) colours.palette[static_cast<std::size_t>(i)].alpha = alpha[i];
  }
  return colours;
}

// One line as libpng unpacks it (a byte or a big-endian pair of bytes per sample) to RGBA.
void to_rgba(const std::uint8_t* in, std::int64_t width, const Colours& colours,
             std::uint8_t* out) {
  const int step = colours.depth == 16 ? 2 : 1;
  const auto gray_scale =
      static_cast<std::uint8_t>(colours.depth < 8 ? 255 / ((1 << colours.depth) - 1) : 1);
  for (std::int64_t x = 0; x < width; ++x, out += 4) {
    Rgba pixel{0, 0, 0, 255};
    switch (colours.type) {
      case PNG_COLOR_TYPE_PALETTE: pixel = colours.palette[*in++]; break;
      case PNG_COLOR_TYPE_GRAY: {
        // 16-bit gray saturates, as Pillow's mode I;16 does.
        const std::uint8_t level = step == 2 ? (in[0] != 0 ? std::uint8_t{255} : in[1])
                                             : static_cast<std::uint8_t>(in[0] * gray_scale);
        pixel = {level, level, level, 255};
        in += step;
        break;
      }
      case PNG_COLOR_TYPE_GRAY_ALPHA:
        pixel = {in[0], in[0], in[0], in[step]};
        in += 2 * step;
        break;
      case PNG_COLOR_TYPE_RGB:
        pixel = {in[0], in[step], in[2 * step], 255};
        in += 3 * step;
        break;
      default:
        pixel = {in[0], in[step], in[2 * step], in[3 * step]};
        in += 4 * step;
        break;
    }
    if (colours.key && pixel.red == (*colours.key)[0] && pixel.green == (*colours.key)[1] &&
        pixel.blue == (*colours.key)[2]) {
      pixel.alpha = 0;
    }
    std::memcpy(out, &pixel, 4);
  }
}

class PngDecoder : public ImageDecoder {
 public:
  explicit PngDecoder(const ImageSource& source) : source_(source) {
    const PngSummary summary = summarize_png(source.bytes);
    check_image_size(summary.size, source.max_image_pixels, "png");
    header_.format = "png";
    header_.stored = summary.size;
    header_.orientation = summary.orientation;
    const bool wide = summary.bit_depth == 16;
    if (wide && source.profile == Profile::hf) {
      throw Error(ErrorKind::unsupported, "png",
                  "16 bits per sample: torchvision keeps them as 16, which raw patch bytes cannot "
                  "hold; the profiles vllm and hf-pil reduce them");
    }
    if (wide) {
      header_.notes.emplace_back(summary.colour_type == PNG_COLOR_TYPE_GRAY
                                     ? "16-bit gray saturated at 255"
                                     : "16-bit samples reduced to their high byte");
    }
    if (summary.animated) header_.notes.emplace_back("default image of an animated PNG");
    if (summary.colour_profile) header_.notes.emplace_back("ICC profile ignored");
    if (summary.gamma) header_.notes.emplace_back("gamma ignored");
  }

  std::vector<std::string> decode(const LineSink& sink) const override {
    PngSession session(source_.bytes);
    session.run([](png_structp png, png_infop info) {
      png_read_info(png, info);
      png_set_packing(png);
    });
    const Colours colours = colours_of(session.png(), session.info());
    const bool interlaced = png_get_interlace_type(session.png(), session.info()) != 0;
    session.run([](png_structp png, png_infop info) {
      png_set_interlace_handling(png);
      png_read_update_info(png, info);
    });
    const std::size_t row_bytes = png_get_rowbytes(session.png(), session.info());
    const auto height = static_cast<std::size_t>(header_.stored.height);
    const auto width = static_cast<std::size_t>(header_.stored.width);

    ByteBuffer raw(row_bytes * (interlaced ? height : 1));
    ByteBuffer rgba(width * 4);
    ByteBuffer rgb(width * 3 + line_slack);
    std::memset(rgb.data(), 0, rgb.size());
    const AlphaPolicy policy = source_.alpha_policy();
    const auto convert = [&](const std::uint8_t* line) {
      to_rgba(line, header_.stored.width, colours, rgba.data());
      rgba_to_rgb(rgba.data(), header_.stored.width, policy, rgb.data());
      sink(rgb.data());
    };
    if (interlaced) {
      std::memset(raw.data(), 0, raw.size());
      std::vector<png_bytep> rows(height);
      for (std::size_t y = 0; y < height; ++y) rows[y] = raw.data() + y * row_bytes;
      session.run([&](png_structp png, png_infop) { png_read_image(png, rows.data()); });
      for (const std::uint8_t* row : rows) convert(row);
    } else {
      for (std::size_t y = 0; y < height; ++y) {
        session.run([&](png_structp png, png_infop) { png_read_row(png, raw.data(), nullptr); });
        convert(raw.data());
      }
    }
    session.run([](png_structp png, png_infop) { png_read_end(png, nullptr); });

    std::vector<std::string> notes;
    const bool clear = (colours.type & PNG_COLOR_MASK_ALPHA) != 0 || colours.key ||
                       std::ranges::any_of(colours.palette, [](Rgba c) { return c.alpha != 255; });
    if (clear) notes.emplace_back(alpha_note(policy));
    return notes;
  }

 private:
  ImageSource source_;
};

}  // namespace

std::unique_ptr<const ImageDecoder> open_png(const ImageSource& source) {
  return std::make_unique<PngDecoder>(source);
}

}  // namespace vtower
