#include "explain/media_faults.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/upsample_bicubic2d.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "media/image_decoder.h"
#include "media/media_item.h"
#include "media/orientation.h"
#include "media/resize.h"
#include "media/smart_resize.h"

namespace vtower::explain {
namespace {

// How a still picture is made into pixels where it is not made as it should be.
struct Recipe {
  std::optional<AlphaPolicy> alpha;
  bool ignore_orientation = false;
  bool antialias = true;
  std::optional<Resample> kernel;
  std::optional<ResizeBackend> backend;
  std::optional<std::int64_t> first_factor;  // resized for tokens of this side before
};

bool is_still(const MediaSource& source) {
  return MediaItem::open(source.path, source.spec, source.options)->header().kind ==
         ItemKind::image;
}

Frame decoded(const ImageDecoder& decoder, bool ignore_orientation) {
  Frame frame(decoder.header().stored);
  const std::size_t bytes = static_cast<std::size_t>(frame.size.width) * 3;
  std::int64_t y = 0;
  (void)decoder.decode([&](const std::uint8_t* rgb) { std::memcpy(frame.row(y++), rgb, bytes); });
  const auto& orientation = decoder.header().orientation;
  if (ignore_orientation || !turns(orientation)) return frame;
  return oriented(frame, *orientation);
}

// Bicubic on the four nearest pixels, as without antialiasing: torchvision's float path.
Frame without_antialias(const Frame& frame, ImageSize target) {
  at::Tensor pixels = at::from_blob(const_cast<std::uint8_t*>(frame.pixels.data()),
                                    {1, frame.size.height, frame.size.width, 3},
                                    at::TensorOptions().dtype(at::kByte))
                          .permute({0, 3, 1, 2})
                          .to(at::kFloat);
  const at::Tensor resized =
      at::upsample_bicubic2d(pixels, {target.height, target.width}, /*align_corners=*/false)
          .round()
          .clamp(0, 255)
          .to(at::kByte)
          .permute({0, 2, 3, 1})
          .contiguous();
  Frame result(target);
  std::memcpy(result.pixels.data(), resized.const_data_ptr<std::uint8_t>(), result.pixels.size());
  return result;
}

RawPatches still_pixels(const MediaSource& source, const Recipe& recipe) {
  const MappedFile file(source.path);
  const Profile profile = source.options.profile;
  const auto decoder =
      open_image({file.bytes(), profile, source.options.max_image_pixels, recipe.alpha});
  Frame frame = decoded(*decoder, recipe.ignore_orientation || profile == Profile::hf);
  const PatchLayout& layout = source.spec.layout;
  const ResizeBackend backend = recipe.backend.value_or(
      profile == Profile::hf_pil ? ResizeBackend::pillow : ResizeBackend::torchvision);
  const Resample kernel = recipe.kernel.value_or(source.spec.resample);
  const auto resized = [&](const Frame& from, std::int64_t factor) {
    const ImageSize target = smart_resize_frame(from.size, factor, source.spec.image_limits);
    if (!recipe.antialias) return without_antialias(from, target);
    return Resizer(from.size, target, kernel, backend).resize(from);
  };
  if (recipe.first_factor) frame = resized(frame, *recipe.first_factor);
  const Frame final = resized(frame, layout.factor());
  return RawPatches::gather({&final, 1}, layout);
}

RawPatches sound_pixels(const MediaSource& source) {
  return MediaItem::open(source.path, source.spec, source.options)->load().patches;
}

using Load = std::function<RawPatches(const MediaSource&)>;

class Builder {
 public:
  explicit Builder(std::vector<MediaSource> sources) : sources_(std::move(sources)) {}

  void add(const std::string& id, const std::string& variant, const std::string& sentence,
           Load load) {
    Fault fault;
    fault.id = id;
    fault.variant = variant;
    fault.sentence = sentence;
    fault.pixels = [sources = sources_, load = std::move(load)](const RawPatches& patches) {
      std::vector<RawPatches> parts;
      for (const MediaSource& source : sources) parts.push_back(load(source));
      std::vector<const RawPatches*> all;
      for (const RawPatches& part : parts) all.push_back(&part);
      RawPatches batch = RawPatches::concat(all);
      // Another number of tokens cannot be what the faulty side has.
      if (batch.rows() != patches.rows()) {
        throw Error(ErrorKind::out_of_range, "explain", "the faulty pixels have another size");
      }
      return batch;
    };
    faults_.push_back(std::move(fault));
  }

  // For still pictures; clips stay as they are.
  void add_still(const std::string& id, const std::string& variant, const std::string& sentence,
                 const Recipe& recipe) {
    add(id, variant, sentence, [recipe](const MediaSource& source) {
      return is_still(source) ? still_pixels(source, recipe) : sound_pixels(source);
    });
  }

  [[nodiscard]] std::vector<Fault> take() && { return std::move(faults_); }

 private:
  std::vector<MediaSource> sources_;
  std::vector<Fault> faults_;
};

std::string_view name_of(Resample kernel) {
  switch (kernel) {
    case Resample::nearest: return "nearest";
    case Resample::lanczos: return "lanczos";
    case Resample::bilinear: return "bilinear";
    case Resample::bicubic: break;
  }
  return "bicubic";
}

}  // namespace

std::vector<Fault> media_faults(const std::vector<std::optional<MediaSource>>& sources) {
  std::vector<MediaSource> all;
  for (const std::optional<MediaSource>& source : sources) {
    if (!source) return {};
    all.push_back(*source);
  }
  if (all.empty()) return {};
  const Resample own = all.front().spec.resample;
  const std::int64_t factor = all.front().spec.layout.factor();
  Builder builder(all);
  for (const Resample kernel : {Resample::bilinear, Resample::bicubic, Resample::nearest}) {
    if (kernel == own) continue;
    const std::string name(name_of(kernel));
    builder.add(
        "resize_kernel_other", name,
        "pictures were resized with a " + name + " kernel instead of " + std::string(name_of(own)),
        [kernel](const MediaSource& source) {
          MediaSource altered = source;
          altered.spec.resample = kernel;
          return sound_pixels(altered);
        });
  }
  Recipe recipe;
  if (own != Resample::lanczos) {
    recipe.kernel = Resample::lanczos;
    recipe.backend = ResizeBackend::pillow;
    builder.add_still(
        "resize_kernel_other", "lanczos",
        "pictures were resized with a lanczos kernel instead of " + std::string(name_of(own)),
        recipe);
  }
  recipe = {};
  recipe.antialias = false;
  if (own == Resample::bicubic) {
    builder.add_still("resize_without_antialias", "", "pictures were resized without antialiasing",
                      recipe);
  }
  const bool pillow = all.front().options.profile == Profile::hf_pil;
  recipe = {};
  recipe.backend = pillow ? ResizeBackend::torchvision : ResizeBackend::pillow;
  builder.add_still(
      "resize_backend_other", "",
      std::string("pictures were resized by ") +
          (pillow ? "torchvision instead of Pillow" : "Pillow instead of torchvision"),
      recipe);
  for (const std::int64_t other : {28, 32, 56, 64}) {
    if (other == factor) continue;
    for (const ResizeBackend backend : {ResizeBackend::torchvision, ResizeBackend::pillow}) {
      recipe = {};
      recipe.first_factor = other;
      recipe.backend = backend;
      builder.add_still(
          "resized_twice",
          std::to_string(other) + (backend == ResizeBackend::pillow ? "-pillow" : ""),
          "pictures were resized twice, first to multiples of " + std::to_string(other) + " pixels",
          recipe);
    }
  }
  recipe = {};
  recipe.ignore_orientation = true;
  builder.add_still("exif_ignored", "", "the orientation that the file states was ignored", recipe);
  recipe = {};
  recipe.alpha = AlphaPolicy::drop;
  builder.add_still("alpha_dropped", "", "transparency was dropped, hidden colours show", recipe);
  recipe.alpha = AlphaPolicy::on_black;
  builder.add_still("alpha_on_black", "", "transparency was put on black", recipe);
  recipe.alpha = AlphaPolicy::on_white;
  if (all.front().options.profile != Profile::vllm) {
    builder.add_still("alpha_on_white", "", "transparency was put on white", recipe);
  }
  return std::move(builder).take();
}

}  // namespace vtower::explain
