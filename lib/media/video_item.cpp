#include "media/video_item.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "core/digest.h"
#include "core/error.h"
#include "core/file.h"
#include "media/resize.h"
#include "media/smart_resize.h"
#include "media/video_source.h"

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

class VideoItem final : public MediaItem {
 public:
  VideoItem(std::filesystem::path path, const PixelSpec& spec, const MediaOptions& options)
      : path_(std::move(path)),
        file_(path_),
        spec_(spec),
        options_(options),
        source_(open_clip(file_.bytes(), options)),
        plan_(plan_frames(source_->facts().times, spec, options)),
        target_size_(target_size()) {}

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
  [[nodiscard]] ImageSize target_size() const {
    const PatchLayout& layout = spec_.layout;
    const ImageSize shown = source_->facts().shown;
    if (spec_.video_rule == VideoRule::qwen2) {
      return smart_resize_frame(shown, layout.factor(), spec_.video_limits);
    }
    const std::int64_t frames = std::max(static_cast<std::int64_t>(plan_.indices.size()),
                                         layout.temporal_patch_size);  // one frame is repeated
    return smart_resize_clip(frames, shown, layout.factor(), layout.temporal_patch_size,
                             spec_.video_limits);
  }

  [[nodiscard]] LoadedItem load_frames() const {
    ItemRecord record = describe();
    std::vector<SampledFrame>& frames = record.video->frames;
    PatchScatter scatter = make_scatter();
    std::vector<std::int64_t> damaged = take(frames, scatter);
    if (!damaged.empty()) {
      if (options_.video.on_corrupt == OnCorrupt::fail) refuse_damage(damaged);
      replace_damaged(frames);
      scatter = make_scatter();
      damaged = take(frames, scatter);
      if (!damaged.empty()) refuse_damage(damaged);
    }
    return {std::move(scatter).finish(), std::move(record)};
  }

  [[nodiscard]] ItemRecord describe() const {
    const ClipFacts& facts = source_->facts();
    const auto total = static_cast<std::int64_t>(facts.times.seconds.size());
    VideoRecord video;
    video.frame_count = total;
    video.header_frame_count = facts.header_frame_count;
    video.fps = plan_.fps;
    video.fps_origin = plan_.fps_origin;
    video.rule = plan_.rule;
    video.frames_asked = plan_.frames_asked;
    video.start_seconds = facts.start_seconds;
    video.rotation_degrees = facts.rotation_degrees;
    video.pixel_format = facts.pixel_format;
    video.colour = facts.colour;
    if (plan_.fps && total > 1) {
      video.sampled_fps =
          static_cast<double>(plan_.indices.size()) / static_cast<double>(total) * *plan_.fps;
    }
    for (const std::int64_t index : plan_.indices) {
      video.frames.push_back({index, facts.times.seconds[static_cast<std::size_t>(index)], {}, {}});
    }

    ItemRecord record;
    record.kind = ItemKind::video;
    record.path = path_.string();
    record.format = facts.format;
    record.sha256 = sha256_hex(file_.bytes());
    record.stored = facts.stored;
    record.decoded = facts.shown;
    record.resized = target_size_;
    record.notes = facts.notes;
    record.notes.insert(record.notes.end(), plan_.notes.begin(), plan_.notes.end());
    if (facts.header_frame_count && *facts.header_frame_count != total) {
      record.notes.push_back("the header counts " + std::to_string(*facts.header_frame_count) +
                             " frames, the stream shows " + std::to_string(total));
    }
    if (plan_.indices.size() == 1) record.notes.emplace_back("a single frame: repeated");
    record.video = std::move(video);
    return record;
  }

  [[nodiscard]] PatchScatter make_scatter() const {
    return {target_size_, static_cast<std::int64_t>(plan_.indices.size()), spec_.layout};
  }

  // Decodes `frames` (or what replaces them) into `scatter` and notes their digests; returns those
  // that are damaged.
  std::vector<std::int64_t> take(std::vector<SampledFrame>& frames, PatchScatter& scatter) const {
    std::map<std::int64_t, std::vector<std::size_t>> places;
    for (std::size_t k = 0; k < frames.size(); ++k) {
      places[frames[k].replaced_by.value_or(frames[k].index)].push_back(k);
    }
    std::vector<std::int64_t> wanted;
    for (const auto& [index, unused] : places) wanted.push_back(index);

    // Video processors resize by torchvision in every profile: there is no Pillow variant of them.
    const Resizer resizer(source_->facts().shown, target_size_, spec_.resample,
                          ResizeBackend::torchvision);
    return source_->decode(wanted, [&](std::int64_t index, const Frame& frame) {
      const std::string digest = sha256_hex(frame.pixels.span());
      for (const std::size_t k : places.at(index)) {
        resizer.resize_into(frame, scatter, static_cast<std::int64_t>(k));
        frames[k].sha256 = digest;
      }
    });
  }

  [[noreturn]] void refuse_damage(const std::vector<std::int64_t>& damaged) const {
    constexpr std::size_t listed = 5;
    std::string list;
    for (std::size_t i = 0; i < std::min(damaged.size(), listed); ++i) {
      list += (i > 0 ? ", " : "") + std::to_string(damaged[i]);
    }
    if (damaged.size() > listed) list += ", ...";
    throw Error(ErrorKind::unreadable, "video_item",
                std::to_string(damaged.size()) +
                    " of the frames to be taken are damaged or predicted from damaged ones (" +
                    list + " of " + std::to_string(source_->facts().times.seconds.size()) +
                    "); --on-corrupt nearest takes the nearest clean frames");
  }

  // Puts the nearest clean frame, the earlier of two, in the place of each damaged one.
  void replace_damaged(std::vector<SampledFrame>& frames) const {
    const std::vector<std::int64_t> damaged = source_->damaged_frames();
    std::vector<std::int64_t> all(source_->facts().times.seconds.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::int64_t> clean;
    std::set_difference(all.begin(), all.end(), damaged.begin(), damaged.end(),
                        std::back_inserter(clean));
    if (clean.empty()) refuse_damage(damaged);
    for (SampledFrame& frame : frames) {
      if (!std::binary_search(damaged.begin(), damaged.end(), frame.index)) continue;
      auto nearest = std::lower_bound(clean.begin(), clean.end(), frame.index);
      if (nearest == clean.end() ||
          (nearest != clean.begin() && frame.index - *(nearest - 1) <= *nearest - frame.index)) {
        --nearest;
      }
      frame.replaced_by = *nearest;
    }
  }

  std::filesystem::path path_;
  MappedFile file_;
  PixelSpec spec_;
  MediaOptions options_;
  std::unique_ptr<const ClipSource> source_;
  FramePlan plan_;
  ImageSize target_size_;
};

}  // namespace

std::unique_ptr<const MediaItem> open_video_item(const std::filesystem::path& path,
                                                 const PixelSpec& spec,
                                                 const MediaOptions& options) {
  return naming(path, [&] { return std::make_unique<const VideoItem>(path, spec, options); });
}

}  // namespace vtower
