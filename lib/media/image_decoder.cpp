#include "media/image_decoder.h"

#include "core/error.h"
#include "media/signature.h"

namespace vtower {

void check_image_size(ImageSize size, std::int64_t max_image_pixels, std::string_view context) {
  const std::string text = std::to_string(size.height) + "x" + std::to_string(size.width);
  if (size.height < 1 || size.width < 1) {
    throw Error(ErrorKind::unreadable, std::string(context),
                "header says " + text + " (height x width): a side of zero is no picture");
  }
  if (size.height > max_image_pixels / size.width) {  // the product might overflow
    throw Error(ErrorKind::too_large, std::string(context),
                "header says " + text + " pixels, the cap is " + std::to_string(max_image_pixels) +
                    " in all; --max-image-pixels raises it");
  }
}

std::unique_ptr<const ImageDecoder> open_image(const ImageSource& source) {
  if (source.bytes.empty()) {
    throw Error(ErrorKind::unreadable, "image", "the file is empty");
  }
  const FileType type = file_type(source.bytes);
  switch (type) {
    case FileType::jpeg: return open_jpeg(source);
    case FileType::png: return open_png(source);
    case FileType::gif: return open_gif(source);
    case FileType::bmp: return open_bmp(source);
    case FileType::webp: return open_webp(source);
    case FileType::tiff: return open_tiff(source);
    case FileType::avif:
    case FileType::heic:
    case FileType::jpeg2000:
    case FileType::svg:
    case FileType::video_container:
      throw Error(
          ErrorKind::unsupported, "image",
          "the bytes are " + std::string(to_string(type)) +
              ", which is not read as a picture; expected JPEG, PNG, GIF, BMP, WebP or TIFF");
    case FileType::unknown: break;
  }
  throw Error(ErrorKind::unreadable, "image",
              "the bytes are no picture that is known here; expected JPEG, PNG, GIF, BMP, WebP or "
              "TIFF (a failed download?)");
}

}  // namespace vtower
