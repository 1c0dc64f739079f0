// The readers of still pictures behind one interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/frame.h"
#include "media/media_options.h"
#include "media/pixels.h"

namespace vtower {

// What a picture's header says.
struct ImageHeader {
  std::string format;  // "jpeg", "png", ...
  ImageSize stored;
  std::optional<std::int64_t> orientation;  // as found, also outside of 1..8
  std::vector<std::string> notes;           // policies that apply to this picture
};

// A file's bytes and how they are to be read. The bytes must outlive every decoder made from them.
struct ImageSource {
  std::span<const std::uint8_t> bytes;
  Profile profile = Profile::vllm;
  std::int64_t max_image_pixels = 0;
  std::optional<AlphaPolicy> alpha = std::nullopt;  // empty: the profile's

  [[nodiscard]] AlphaPolicy alpha_policy() const noexcept {
    return alpha.value_or(vtower::alpha_policy(profile));
  }
};

// Receives one line of RGB pixels, valid during the call, with line_slack readable bytes behind it.
using LineSink = std::function<void(const std::uint8_t* rgb)>;

// An opened picture: header read, size checked, no pixel decoded. Immutable; decode() may be called
// from any thread, and again.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  [[nodiscard]] const ImageHeader& header() const noexcept { return header_; }

  // Hands on every line of the stored picture (first frame where there are several) from the top,
  // with transparency resolved as the profile does. Returns notes that only decoding can give.
  // Throws Error: truncated, unreadable, unsupported, memory; some lines may have been handed on.
  virtual std::vector<std::string> decode(const LineSink& sink) const = 0;

 protected:
  ImageHeader header_;
};

// One per format, each for bytes that carry its signature. Throws Error: truncated, unreadable,
// unsupported (what the profile's reference refuses too), too_large (before any allocation).
std::unique_ptr<const ImageDecoder> open_jpeg(const ImageSource& source);
std::unique_ptr<const ImageDecoder> open_png(const ImageSource& source);
std::unique_ptr<const ImageDecoder> open_gif(const ImageSource& source);
std::unique_ptr<const ImageDecoder> open_bmp(const ImageSource& source);
std::unique_ptr<const ImageDecoder> open_webp(const ImageSource& source);
std::unique_ptr<const ImageDecoder> open_tiff(const ImageSource& source);

// The decoder for the bytes, found by their signature. Throws as those above, Error{unsupported}
// for known formats that are not read and Error{unreadable} for unknown bytes.
std::unique_ptr<const ImageDecoder> open_image(const ImageSource& source);

// Throws Error{unreadable} for a side of zero and Error{too_large} above the cap.
void check_image_size(ImageSize size, std::int64_t max_image_pixels, std::string_view context);

}  // namespace vtower
