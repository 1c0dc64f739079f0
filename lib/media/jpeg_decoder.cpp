// JPEG by libjpeg-turbo: accurate integer IDCT, fancy upsampling, the settings of Pillow and
// torchvision.
#include <algorithm>
#include <cstring>

#include "core/byte_buffer.h"
#include "core/error.h"
#include "media/image_decoder.h"
#include "media/jpeg_half_height.h"
#include "media/jpeg_session.h"
#include "media/orientation.h"
#include "media/pixels.h"
#include "media/resize_kernels.h"

namespace vtower {
namespace {

constexpr std::string_view exif_prefix{"Exif\0\0", 6};
constexpr std::string_view xmp_prefix{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr std::string_view icc_prefix{"ICC_PROFILE\0", 12};
constexpr std::string_view mpo_prefix{"MPF\0", 4};

struct Metadata {
  std::string exif;  // the EXIF blocks, which may be spread over several segments
  std::string xmp;
  bool icc = false;
  bool several_pictures = false;
};

Metadata metadata(const jpeg_decompress_struct& info) {
  Metadata found;
  for (auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (marker->marker == JPEG_APP0 + 1 && data.starts_with(exif_prefix)) {
      found.exif += found.exif.empty() ? data : data.substr(exif_prefix.size());
    } else if (marker->marker == JPEG_APP0 + 1 && data.starts_with(xmp_prefix)) {
      found.xmp = data.substr(xmp_prefix.size());
    } else if (marker->marker == JPEG_APP0 + 2) {
      found.icc = found.icc || data.starts_with(icc_prefix);
      found.several_pictures = found.several_pictures || data.starts_with(mpo_prefix);
    }
  }
  return found;
}

std::optional<std::int64_t> orientation_of(const Metadata& found) {
  const std::span exif(reinterpret_cast<const std::uint8_t*>(found.exif.data()), found.exif.size());
  const std::optional<std::int64_t> tag = exif_orientation(exif);
  return tag ? tag : xmp_orientation(found.xmp);
}

class JpegDecoder : public ImageDecoder {
 public:
  explicit JpegDecoder(const ImageSource& source) : source_(source) {
    JpegSession session(source.bytes);
    session.run([](jpeg_decompress_struct& info) {
      jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
      jpeg_save_markers(&info, JPEG_APP0 + 2, icc_prefix.size());
      jpeg_read_header(&info, TRUE);
    });
    const jpeg_decompress_struct& info = session.info();
    header_.format = "jpeg";
    header_.stored = {info.image_height, info.image_width};
    check_image_size(header_.stored, source.max_image_pixels, "jpeg");
    if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4) {
      throw Error(ErrorKind::unsupported, "jpeg",
                  std::to_string(info.num_components) +
                      " components: expected 1 (gray), 3 (colour) or 4 (CMYK)");
    }
    const Metadata found = metadata(info);
    header_.orientation = orientation_of(found);
    if (found.icc) header_.notes.emplace_back("ICC profile ignored");
    if (found.several_pictures) header_.notes.emplace_back("first picture of an MPO file");
    if (source.profile == Profile::hf && has_half_height_chroma(info) &&
        !is_plain_half_height(info)) {
      header_.notes.emplace_back("unusual 4:4:0 chroma, interpolated otherwise than torchvision");
    }
    if (info.num_components == 4) header_.notes.emplace_back("CMYK converted without a profile");
  }

  std::vector<std::string> decode(const LineSink& sink) const override {
    JpegSession session(source_.bytes);
    jpeg_decompress_struct& info = session.info();
    session.run([](jpeg_decompress_struct& call) { jpeg_read_header(&call, TRUE); });
    const bool cmyk = info.num_components == 4;
    info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = TRUE;
    if (source_.profile == Profile::hf && is_plain_half_height(info)) {
      decode_half_height(session, sink);
    } else {
      decode_lines(session, sink);
    }
    session.run([](jpeg_decompress_struct& call) { jpeg_finish_decompress(&call); });
    return session.check_warnings();
  }

 private:
  static void decode_lines(JpegSession& session, const LineSink& sink) {
    jpeg_decompress_struct& info = session.info();
    const bool cmyk = info.out_color_space == JCS_CMYK;
    session.run([](jpeg_decompress_struct& call) { jpeg_start_decompress(&call); });

    // libjpeg hands out up to rec_outbuf_height lines at a time without a copy of its own. To lines
    // that begin at a multiple of 32 its vector code writes past the cache; these are read at once,
    // so they begin elsewhere.
    constexpr std::size_t vector = 32;
    const auto lines = static_cast<std::size_t>(info.rec_outbuf_height);
    const std::size_t bytes = std::size_t{info.output_width} * (cmyk ? 4 : 3);
    const std::size_t stride = (bytes + line_slack + vector - 1) / vector * vector;
    ByteBuffer decoded(stride * lines + 2 * vector);
    std::memset(decoded.data(), 0, decoded.size());
    const auto address = reinterpret_cast<std::uintptr_t>(decoded.data());
    std::uint8_t* first = decoded.data() + (vector - address % vector) + vector / 2;
    ByteBuffer converted(cmyk ? std::size_t{info.output_width} * 3 + line_slack : 0);
    std::memset(converted.data(), 0, converted.size());
    JSAMPROW rows[MAX_SAMP_FACTOR];
    for (std::size_t i = 0; i < lines; ++i) rows[i] = first + i * stride;
    while (info.output_scanline < info.output_height) {
      JDIMENSION count = 0;
      session.run([&](jpeg_decompress_struct& call) {
        count = jpeg_read_scanlines(&call, rows, static_cast<JDIMENSION>(lines));
      });
      for (JDIMENSION i = 0; i < count; ++i) {
        if (cmyk) {
          // Samples are taken as inverted, whether or not an Adobe marker says so (as in Pillow).
          std::for_each_n(rows[i], bytes,
                          [](JSAMPLE& sample) { sample = static_cast<JSAMPLE>(255 - sample); });
          cmyk_to_rgb(rows[i], info.output_width, converted.data());
        }
        sink(cmyk ? converted.data() : rows[i]);
      }
    }
  }

  ImageSource source_;
};

}  // namespace

std::unique_ptr<const ImageDecoder> open_jpeg(const ImageSource& source) {
  return std::make_unique<JpegDecoder>(source);
}

}  // namespace vtower
