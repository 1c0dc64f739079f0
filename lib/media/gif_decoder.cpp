// GIF: the first frame on its canvas, as Pillow (vllm, hf-pil) or torchvision's giflib (hf) make
// it.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/byte_buffer.h"
#include "core/error.h"
#include "media/byte_reader.h"
#include "media/gif_lzw.h"
#include "media/image_decoder.h"
#include "media/pixels.h"
#include "media/resize_kernels.h"

namespace vtower {
namespace {

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

Palette gray_ramp() {
  Palette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  return palette;
}

// A colour table of `size` entries; indices beyond it are black, as in Pillow.
struct ColourTable {
  Palette colours = gray_ramp();  // what a picture without a table is shown with
  std::size_t size = 0;
};

// `flags` as in a screen or image descriptor; empty where they announce no table.
std::optional<ColourTable> read_colour_table(ByteReader& reader, std::uint8_t flags) {
  if ((flags & 0x80) == 0) return std::nullopt;
  ColourTable table;
  table.colours = {};
  table.size = std::size_t{2} << (flags & 7);
  for (std::size_t i = 0; i < table.size; ++i) {
    const auto colour = reader.take(3);
    std::copy(colour.begin(), colour.end(), table.colours[i].begin());
  }
  return table;
}

struct Frame0 {
  std::int64_t left = 0, top = 0;
  ImageSize size;
  bool interlaced = false;
  int minimum_code_size = 0;
  ColourTable table;
  std::optional<std::uint8_t> transparent;
};

// Sub-blocks up to the empty one; their content where it is wanted.
void skip_blocks(ByteReader& reader, std::vector<std::uint8_t>* content) {
  for (std::size_t size = reader.u8(); size > 0; size = reader.u8()) {
    const auto block = reader.take(size);
    if (content != nullptr) content->insert(content->end(), block.begin(), block.end());
  }
}

// Lines of an interlaced frame in the order in which they are stored.
std::vector<std::int64_t> stored_order(std::int64_t height, bool interlaced) {
  std::vector<std::int64_t> order;
  constexpr std::array<std::array<std::int64_t, 2>, 4> passes = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  for (const auto& [first, step] : passes) {
    for (std::int64_t y = first; y < height && interlaced; y += step) order.push_back(y);
  }
  for (std::int64_t y = 0; y < height && !interlaced; ++y) order.push_back(y);
  return order;
}

class GifDecoder : public ImageDecoder {
 public:
  explicit GifDecoder(const ImageSource& source) : source_(source) {
    ByteReader reader(source.bytes, ByteOrder::little, "gif");
    reader.take(6);
    canvas_.width = reader.u16();
    canvas_.height = reader.u16();
    const std::uint8_t flags = reader.u8();
    const std::uint8_t background = reader.u8();
    reader.take(1);
    const ColourTable global = read_colour_table(reader, flags).value_or(ColourTable{});
    if (global.size > 0) background_ = global.colours[background];
    read_records(reader, global);
    if (frames_ == 0) throw Error(ErrorKind::unreadable, "gif", "there is no frame in the file");
    if (source.profile == Profile::hf && frames_ > 1) {
      throw Error(ErrorKind::unsupported, "gif",
                  std::to_string(frames_) +
                      " frames: transformers takes each as a picture of its own; the profiles vllm "
                      "and hf-pil take the first one, --as video all of them");
    }
    if (source.profile == Profile::hf && first_.table.size == 0) {
      throw Error(ErrorKind::unreadable, "gif",
                  "there is no colour table, which torchvision needs");
    }
    if (source.profile != Profile::hf) {  // Pillow enlarges the canvas to its first frame
      canvas_.width = std::max(canvas_.width, first_.left + first_.size.width);
      canvas_.height = std::max(canvas_.height, first_.top + first_.size.height);
    }
    check_image_size(canvas_, source.max_image_pixels, "gif");
    check_image_size(first_.size, source.max_image_pixels, "gif");
    header_.format = "gif";
    header_.stored = canvas_;
    if (frames_ > 1) {
      header_.notes.emplace_back("first of " + std::to_string(frames_) + " frames");
    }
    if (first_.transparent && source.profile == Profile::hf) {
      header_.notes.emplace_back("transparency on the background colour");
    } else if (first_.transparent) {
      header_.notes.emplace_back(alpha_note(source.alpha_policy()));
    }
  }

  std::vector<std::string> decode(const LineSink& sink) const override {
    const std::vector<std::uint8_t> data = first_frame_data();
    const ByteBuffer stored = gif_lzw_decode(data, first_.minimum_code_size,
                                             static_cast<std::size_t>(first_.size.pixels()));
    if (source_.profile == Profile::hf) check_indices(stored.span());
    const std::vector<std::int64_t> order = stored_order(first_.size.height, first_.interlaced);
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = i;

    const std::array<std::uint8_t, 4> surround = surround_colour();
    const auto width = static_cast<std::size_t>(canvas_.width);
    ByteBuffer rgba(width * 4);
    ByteBuffer rgb(width * 3 + line_slack);
    std::memset(rgb.data(), 0, rgb.size());
    for (std::int64_t y = 0; y < canvas_.height; ++y) {
      for (std::size_t x = 0; x < width; ++x) std::memcpy(rgba.data() + 4 * x, surround.data(), 4);
      const std::int64_t row = y - first_.top;
      if (row >= 0 && row < first_.size.height) {
        draw(stored.data() +
                 place[static_cast<std::size_t>(row)] * static_cast<std::size_t>(first_.size.width),
             rgba.data());
      }
      rgba_to_rgb(rgba.data(), canvas_.width, source_.alpha_policy(), rgb.data());
      sink(rgb.data());
    }
    return {};
  }

 private:
  // Everything up to the trailer; keeps what the first frame needs.
  void read_records(ByteReader& reader, const ColourTable& global) {
    bool has_transparent = false;  // as the last graphic control extension said
    std::uint8_t transparent = 0;
    for (std::uint8_t record = reader.u8(); record != 0x3B; record = reader.u8()) {
      if (record == 0x21) {
        const std::uint8_t label = reader.u8();
        std::vector<std::uint8_t> control;
        skip_blocks(reader, label == 0xF9 ? &control : nullptr);
        if (control.size() >= 4) {
          has_transparent = (control[0] & 1) != 0;
          transparent = control[3];
        }
      } else if (record == 0x2C) {
        Frame0 frame;
        frame.left = reader.u16();
        frame.top = reader.u16();
        frame.size.width = reader.u16();
        frame.size.height = reader.u16();
        const std::uint8_t flags = reader.u8();
        frame.interlaced = (flags & 0x40) != 0;
        frame.table = read_colour_table(reader, flags).value_or(global);
        frame.minimum_code_size = reader.u8();
        if (frame.minimum_code_size < 1 || frame.minimum_code_size > 8) {
          throw Error(
              ErrorKind::unreadable, "gif",
              "LZW code size " + std::to_string(frame.minimum_code_size) + ": expected 1 to 8");
        }
        if (has_transparent) frame.transparent = transparent;
        has_transparent = false;
        if (frames_++ == 0) {
          first_ = frame;
          first_data_ = reader.position();
        }
        skip_blocks(reader, nullptr);
      } else {
        throw Error(ErrorKind::unreadable, "gif",
                    "unknown record 0x" + std::string(1, "0123456789abcdef"[record >> 4]) +
                        std::string(1, "0123456789abcdef"[record & 15]));
      }
    }
  }

  [[nodiscard]] std::vector<std::uint8_t> first_frame_data() const {
    ByteReader reader(source_.bytes, ByteOrder::little, "gif");
    reader.seek(first_data_);
    std::vector<std::uint8_t> data;
    skip_blocks(reader, &data);
    return data;
  }

  // giflib under torchvision has no colour for an index beyond the table: it reads on in memory.
  void check_indices(std::span<const std::uint8_t> indices) const {
    if (std::ranges::all_of(indices, [&](std::uint8_t i) { return i < first_.table.size; })) return;
    throw Error(ErrorKind::unreadable, "gif",
                "pixels refer to colours beyond the table of " + std::to_string(first_.table.size) +
                    ", for which torchvision has no value");
  }

  // Where the frame does not reach, and under its clear pixels in profile hf.
  [[nodiscard]] std::array<std::uint8_t, 4> surround_colour() const {
    if (source_.profile == Profile::hf) {
      return {background_[0], background_[1], background_[2], 255};
    }
    const auto& colour = first_.table.colours[first_.transparent.value_or(0)];
    return {colour[0], colour[1], colour[2],
            first_.transparent ? std::uint8_t{0} : std::uint8_t{255}};
  }

  void draw(const std::uint8_t* indices, std::uint8_t* rgba) const {
    const std::int64_t end = std::min(first_.size.width, canvas_.width - first_.left);
    for (std::int64_t x = 0; x < end; ++x) {
      const bool clear = first_.transparent && indices[x] == *first_.transparent;
      if (clear && source_.profile == Profile::hf) continue;
      const auto& colour = first_.table.colours[indices[x]];
      std::uint8_t* pixel = rgba + 4 * (first_.left + x);
      std::copy(colour.begin(), colour.end(), pixel);
      pixel[3] = clear ? 0 : 255;
    }
  }

  ImageSource source_;
  ImageSize canvas_;
  std::array<std::uint8_t, 3> background_{};
  std::int64_t frames_ = 0;
  Frame0 first_;
  std::size_t first_data_ = 0;
};

}  // namespace

std::unique_ptr<const ImageDecoder> open_gif(const ImageSource& source) {
  return std::make_unique<GifDecoder>(source);
}

}  // namespace vtower
