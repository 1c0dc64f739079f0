#include "media/image_item.h"

#include <cstring>
#include <utility>

#include "core/digest.h"
#include "media/image_decoder.h"
#include "media/orientation.h"
#include "media/resize.h"
#include "media/resize_plan.h"
#include "media/resize_stream.h"
#include "media/smart_resize.h"

namespace vtower {
namespace {

ResizeBackend backend_of(Profile profile) {
  return profile == Profile::hf_pil ? ResizeBackend::pillow : ResizeBackend::torchvision;
}

class ImageItem : public MediaItem {
 public:
  ImageItem(const std::filesystem::path& path, MappedFile file, const PixelSpec& spec,
            const MediaOptions& options)
      : path_(path.string()),
        file_(std::move(file)),
        spec_(spec),
        profile_(options.profile),
        decoder_(open_image({file_.bytes(), options.profile, options.max_image_pixels})) {
    const ImageHeader& header = decoder_->header();
    turned_ = profile_ != Profile::hf && turns(header.orientation);
    decoded_ = turned_ ? oriented_size(header.stored, header.orientation) : header.stored;
    resized_ = smart_resize_frame(decoded_, spec_.layout.factor(), spec_.image_limits);
  }

  [[nodiscard]] ItemHeader header() const override {
    return {
        ItemKind::image,
        {1, resized_.height / spec_.layout.patch_size, resized_.width / spec_.layout.patch_size}};
  }

  [[nodiscard]] LoadedItem load() const override {
    const ImageHeader& header = decoder_->header();
    ItemRecord record{.kind = ItemKind::image,
                      .path = path_,
                      .format = header.format,
                      .sha256 = sha256_hex(file_.bytes()),
                      .stored = header.stored,
                      .orientation = header.orientation,
                      .orientation_applied = turned_,
                      .decoded = decoded_,
                      .resized = resized_,
                      .notes = header.notes,
                      .video = {}};
    PatchScatter scatter(resized_, 1, spec_.layout);
    std::vector<std::string> notes =
        turned_ ? load_turned(*header.orientation, scatter) : load_straight(scatter);
    std::ranges::move(notes, std::back_inserter(record.notes));
    return {std::move(scatter).finish(), std::move(record)};
  }

 private:
  // Each line goes from the decoder through the resize into its patches while it is in cache.
  std::vector<std::string> load_straight(PatchScatter& scatter) const {
    const ResizePlan plan(decoded_, resized_, spec_.resample, backend_of(profile_));
    const auto put = [&](std::int64_t y, const std::uint8_t* rgb, std::int64_t line_stride) {
      scatter.put_band(0, y, rgb, line_stride);
    };
    ResizeStream stream(plan, scatter.band_lines(), put);
    return decoder_->decode([&](const std::uint8_t* rgb) { stream.put(rgb); });
  }

  std::vector<std::string> load_turned(std::int64_t orientation, PatchScatter& scatter) const {
    Frame stored(decoder_->header().stored);
    const std::size_t bytes = static_cast<std::size_t>(stored.size.width) * 3;
    std::int64_t y = 0;
    std::vector<std::string> notes = decoder_->decode(
        [&](const std::uint8_t* rgb) { std::memcpy(stored.row(y++), rgb, bytes); });
    const Frame upright = oriented(stored, orientation);
    const Resizer resizer(decoded_, resized_, spec_.resample, backend_of(profile_));
    resizer.resize_into(upright, scatter, 0);
    return notes;
  }

  std::string path_;
  MappedFile file_;
  PixelSpec spec_;
  Profile profile_;
  std::unique_ptr<const ImageDecoder> decoder_;
  bool turned_ = false;
  ImageSize decoded_;
  ImageSize resized_;
};

}  // namespace

std::unique_ptr<const MediaItem> open_image_item(const std::filesystem::path& path, MappedFile file,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options) {
  return std::make_unique<ImageItem>(path, std::move(file), spec, options);
}

}  // namespace vtower
