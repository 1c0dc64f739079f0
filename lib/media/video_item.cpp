#include "media/video_item.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/digest.h"
#include "core/error.h"
#include "core/file.h"
#include "media/resize.h"
#include "media/smart_resize.h"
#include "media/video_container.h"
#include "media/video_convert.h"
#include "media/video_decoder.h"
#include "media/video_index.h"
#include "media/video_plan.h"

namespace vtower {
namespace {

// Runs `work`; an Error that leaves it names the file.
template <typename Work>
auto naming(const std::filesystem::path& path, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.message().starts_with(path.string())) throw;
    throw Error(error.kind(), error.context(), path.string() + ": " + error.message());
  }
}

ImageSize turned_size(ImageSize size, std::int64_t degrees) {
  return degrees % 180 == 0 ? size : ImageSize{size.width, size.height};
}

const char* or_unknown(const char* name) {
  return name != nullptr ? name : "unknown";
}

std::string describe_colour(AVColorSpace matrix, AVColorRange range,
                            AVColorTransferCharacteristic transfer) {
  return "matrix " + std::string(or_unknown(av_color_space_name(matrix))) + ", range " +
         or_unknown(av_color_range_name(range)) + ", transfer " +
         or_unknown(av_color_transfer_name(transfer));
}

// Converters for as many threads as there are, each made when it is first needed.
class ConverterPool {
 public:
  ConverterPool(Profile profile, std::int64_t rotation) : profile_(profile), rotation_(rotation) {}

  Frame convert(const AVFrame& source) {
    std::unique_ptr<FrameConverter> converter = take();
    Frame frame = converter->convert(source);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(converter));
    return frame;
  }

 private:
  std::unique_ptr<FrameConverter> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<FrameConverter>(profile_, rotation_);
    std::unique_ptr<FrameConverter> converter = std::move(idle_.back());
    idle_.pop_back();
    return converter;
  }

  Profile profile_;
  std::int64_t rotation_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<FrameConverter>> idle_;
};

class VideoItem final : public MediaItem {
 public:
  VideoItem(std::filesystem::path path, const PixelSpec& spec, const MediaOptions& options)
      : path_(std::move(path)), spec_(spec), options_(options) {
    const MappedFile file(path_);
    VideoContainer container(file.bytes(), options_.max_image_pixels);
    const ImageSize stored = container.stored_size();
    if (stored.pixels() > options_.max_image_pixels) {
      throw Error(ErrorKind::too_large, "video_item",
                  "frames of " + std::to_string(stored.width) + "x" +
                      std::to_string(stored.height) + " are above the cap of " +
                      std::to_string(options_.max_image_pixels) +
                      " pixels; raise --max-image-pixels");
    }
    rotation_ = container.rotation_degrees();
    decoded_size_ = turned_size(stored, rotation_);
    index_ = scan_frames(container);
    plan_ = plan_frames({index_.seconds, index_.duration_seconds, container.average_rate()}, spec_,
                        options_);
    target_size_ = target_size();
    describe(container);
  }

  [[nodiscard]] ItemHeader header() const override {
    const PatchLayout& layout = spec_.layout;
    const auto frames = static_cast<std::int64_t>(plan_.indices.size());
    const std::int64_t groups =
        (frames + layout.temporal_patch_size - 1) / layout.temporal_patch_size;
    return {ItemKind::video, GridThw{groups, target_size_.height / layout.patch_size,
                                     target_size_.width / layout.patch_size}};
  }

  [[nodiscard]] LoadedItem load() const override {
    return naming(path_, [this] { return load_frames(); });
  }

 private:
  struct Taken {
    std::mutex mutex;
    std::vector<std::string> digests;  // of plan_.indices
    std::string pixel_format;
    std::string colour;
    bool blended = false;
  };

  [[nodiscard]] ImageSize target_size() const {
    const PatchLayout& layout = spec_.layout;
    if (spec_.video_rule == VideoRule::qwen2) {
      return smart_resize_frame(decoded_size_, layout.factor(), spec_.video_limits);
    }
    const std::int64_t frames = std::max(static_cast<std::int64_t>(plan_.indices.size()),
                                         layout.temporal_patch_size);  // one frame is repeated
    return smart_resize_clip(frames, decoded_size_, layout.factor(), layout.temporal_patch_size,
                             spec_.video_limits);
  }

  void describe(const VideoContainer& container) {
    const AVCodecParameters& codec = container.codec();
    record_.kind = ItemKind::video;
    record_.path = path_.string();
    record_.format = container.format_name();
    record_.stored = container.stored_size();
    record_.decoded = decoded_size_;
    record_.resized = target_size_;
    record_.notes = plan_.notes;

    VideoRecord video;
    video.frame_count = index_.frame_count();
    video.header_frame_count = container.header_frame_count();
    video.fps = plan_.fps;
    video.fps_origin = plan_.fps_origin;
    video.rule = plan_.rule;
    video.frames_asked = plan_.frames_asked;
    video.start_seconds = index_.start_seconds;
    video.rotation_degrees = rotation_;
    if (plan_.fps && index_.frame_count() > 1) {
      video.sampled_fps = static_cast<double>(plan_.indices.size()) /
                          static_cast<double>(index_.frame_count()) * *plan_.fps;
    }
    for (const std::int64_t index : plan_.indices) {
      video.frames.push_back({index, index_.seconds[static_cast<std::size_t>(index)], {}, {}});
    }
    record_.video = std::move(video);

    const auto note = [this](std::string text) { record_.notes.push_back(std::move(text)); };
    if (container.header_frame_count() && *container.header_frame_count() != index_.frame_count()) {
      note("the header counts " + std::to_string(*container.header_frame_count()) +
           " frames, the stream shows " + std::to_string(index_.frame_count()));
    }
    if (index_.variable_rate()) note("the frame rate varies");
    if (index_.frame_count() == 1) note("a clip of one frame: repeated");
    const AVRational aspect = container.stream().sample_aspect_ratio;
    if (aspect.num > 0 && aspect.den > 0 && aspect.num != aspect.den) {
      note("pixels of " + std::to_string(aspect.num) + ":" + std::to_string(aspect.den) +
           " are taken as square");
    }
    if (codec.color_trc == AVCOL_TRC_SMPTE2084 || codec.color_trc == AVCOL_TRC_ARIB_STD_B67) {
      note("HDR transfer " + std::string(or_unknown(av_color_transfer_name(codec.color_trc))) +
           " is not mapped to SDR");
    }
  }

  [[nodiscard]] LoadedItem load_frames() const {
    const MappedFile file(path_);
    Taken taken;
    ItemRecord record = record_;
    std::vector<std::int64_t> indices = plan_.indices;
    PatchScatter scatter = make_scatter();
    std::vector<std::int64_t> damaged = take(file.bytes(), indices, scatter, taken);
    if (!damaged.empty()) {
      if (options_.video.on_corrupt == OnCorrupt::fail) refuse_damage(damaged);
      replace_damaged(file.bytes(), indices, *record.video);
      scatter = make_scatter();
      damaged = take(file.bytes(), indices, scatter, taken);
      if (!damaged.empty()) refuse_damage(damaged);
    }
    for (std::size_t k = 0; k < indices.size(); ++k) {
      record.video->frames[k].sha256 = std::move(taken.digests[k]);
    }
    record.video->pixel_format = std::move(taken.pixel_format);
    record.video->colour = std::move(taken.colour);
    if (taken.blended) record.notes.push_back("transparency blended on white");
    record.sha256 = sha256_hex(file.bytes());
    return {std::move(scatter).finish(), std::move(record)};
  }

  [[nodiscard]] PatchScatter make_scatter() const {
    return {target_size_, static_cast<std::int64_t>(plan_.indices.size()), spec_.layout};
  }

  [[nodiscard]] DecodeOptions decode_options(Walk walk) const {
    return {walk, options_.decode_threads, options_.max_image_pixels};
  }

  // Decodes the frames `indices` into `scatter`; returns those that are damaged.
  std::vector<std::int64_t> take(std::span<const std::uint8_t> bytes,
                                 const std::vector<std::int64_t>& indices, PatchScatter& scatter,
                                 Taken& taken) const {
    std::map<std::int64_t, std::vector<std::int64_t>> places;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      places[indices[k]].push_back(static_cast<std::int64_t>(k));
    }
    std::vector<std::int64_t> wanted;
    for (const auto& [index, unused] : places) wanted.push_back(index);

    const ResizeBackend backend =
        options_.profile == Profile::hf_pil ? ResizeBackend::pillow : ResizeBackend::torchvision;
    const Resizer resizer(decoded_size_, target_size_, spec_.resample, backend);
    ConverterPool converters(options_.profile, rotation_);
    taken.digests.assign(indices.size(), {});
    const auto sink = [&](std::int64_t index, const AVFrame& source) {
      const Frame frame = converters.convert(source);
      const std::string digest = sha256_hex(frame.pixels.span());
      for (const std::int64_t k : places.at(index)) {
        resizer.resize_into(frame, scatter, k);
        taken.digests[static_cast<std::size_t>(k)] = digest;
      }
      const std::lock_guard lock(taken.mutex);
      const auto format = static_cast<AVPixelFormat>(source.format);
      taken.blended = taken.blended || has_alpha(format);
      if (index != wanted.front()) return;
      taken.pixel_format = or_unknown(av_get_pix_fmt_name(format));
      taken.colour = describe_colour(source.colorspace, source.color_range, source.color_trc);
    };
    return decode_frames(bytes, index_, wanted, decode_options(Walk::seeking), sink);
  }

  [[noreturn]] void refuse_damage(const std::vector<std::int64_t>& damaged) const {
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(damaged.size(), 5); ++i) {
      list += (i > 0 ? ", " : "") + std::to_string(damaged[i]);
    }
    if (damaged.size() > 5) list += ", ...";
    throw Error(ErrorKind::unreadable, "video_item",
                std::to_string(damaged.size()) +
                    " of the frames to be taken are damaged or "
                    "predicted from damaged ones (" +
                    list + " of " + std::to_string(index_.frame_count()) +
                    "); --on-corrupt nearest takes the nearest clean frames");
  }

  // Puts the nearest clean frame, the earlier of two, in the place of each damaged one.
  void replace_damaged(std::span<const std::uint8_t> bytes, std::vector<std::int64_t>& indices,
                       VideoRecord& video) const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(index_.frame_count()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    const std::vector<std::int64_t> damaged = decode_frames(
        bytes, index_, all, decode_options(Walk::sequential), [](std::int64_t, const AVFrame&) {});
    std::vector<std::int64_t> clean;
    std::set_difference(all.begin(), all.end(), damaged.begin(), damaged.end(),
                        std::back_inserter(clean));
    if (clean.empty()) refuse_damage(damaged);
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (!std::binary_search(damaged.begin(), damaged.end(), indices[k])) continue;
      auto nearest = std::lower_bound(clean.begin(), clean.end(), indices[k]);
      if (nearest == clean.end() ||
          (nearest != clean.begin() && indices[k] - *(nearest - 1) <= *nearest - indices[k])) {
        --nearest;
      }
      video.frames[k].replaced_by = *nearest;
      indices[k] = *nearest;
    }
  }

  std::filesystem::path path_;
  PixelSpec spec_;
  MediaOptions options_;
  std::int64_t rotation_ = 0;
  ImageSize decoded_size_;  // after rotation
  ImageSize target_size_;
  FrameIndex index_;
  FramePlan plan_;
  ItemRecord record_;  // but for what only decoding tells
};

}  // namespace

std::unique_ptr<const MediaItem> open_video_item(const std::filesystem::path& path,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options) {
  return naming(path, [&] { return std::make_unique<const VideoItem>(path, spec, options); });
}

}  // namespace vtower
