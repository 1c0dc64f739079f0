#include "checkpoint/preprocessor_config.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "checkpoint/family_defaults.h"
#include "checkpoint/json_object.h"
#include "core/error.h"

namespace vtower {

namespace {

constexpr const char* context = "preprocessor_config";

std::string text_of(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

std::string text_of(const std::array<double, 3>& values) {
  return "[" + text_of(values[0]) + ", " + text_of(values[1]) + ", " + text_of(values[2]) + "]";
}

// The object that describes one medium, and the reference's class that would read it.
struct Source {
  std::optional<JsonObject> object;  // empty: no file says anything about video
  bool is_video = false;
};

}  // namespace

// One use of a folder's preprocessor files.
class PreprocessorReader {
 public:
  PreprocessorReader(const std::filesystem::path& folder, const VisionConfig& vision)
      : folder_(folder), vision_(vision) {}

  PreprocessorConfig read() {
    const Source image = image_source();
    const Source video = video_source(image);
    const VideoRule rule = video_rule(video);
    const NormConstants norm = constants(*image.object, "");
    refuse_unsupported_steps(*image.object);
    check_layout(*image.object, image_processor_defaults());
    PixelSpec pixels;
    pixels.layout = vision_.layout;
    pixels.video_rule = rule;
    pixels.resample = resample(*image.object);
    pixels.image_limits =
        limits(*image.object, image_processor_defaults(), MinMaxKeys::overwrite, "image_limits");
    const ProcessorDefaults& video_defaults = video_processor_defaults(rule);
    pixels.video_limits = video_defaults.limits;
    if (video.object) {
      refuse_unsupported_steps(*video.object);
      check_layout(*video.object, video_defaults);
      check_same_constants(norm, constants(*video.object, "video "), *video.object);
      if (resample(*video.object) != pixels.resample) {
        video.object->fail("resample", "differs from that of images");
      }
      pixels.video_limits = limits(
          *video.object, video_defaults,
          rule == VideoRule::qwen2 ? MinMaxKeys::overwrite : MinMaxKeys::ignore, "video_limits");
      read_sampling(*video.object, pixels);
      note_unread(*video.object);
    } else {
      const std::string origin(video_defaults.origin);
      record("video_limits.min_pixels", std::to_string(pixels.video_limits.min_pixels), origin);
      record("video_limits.max_pixels", std::to_string(pixels.video_limits.max_pixels), origin);
      notes_.push_back("no file describes video: class defaults with the constants of images");
    }
    note_unread(*image.object);
    return {pixels, norm, std::move(origins_), std::move(notes_)};
  }

 private:
  enum class MinMaxKeys { overwrite, ignore };

  [[nodiscard]] bool exists(const char* file) const {
    return std::filesystem::exists(folder_ / file);
  }

  // processor_config.json's nested object wins as a whole over the flat files.
  std::optional<JsonObject> nested(const char* key, std::initializer_list<const char*> flat) {
    if (!exists("processor_config.json")) return std::nullopt;
    const JsonObject processor = JsonObject::read(folder_ / "processor_config.json", context);
    if (!processor.has(key)) return std::nullopt;
    for (const char* file : flat) {
      if (exists(file)) {
        notes_.push_back(std::string(file) + " gives way to " + processor.origin(key));
      }
    }
    return processor.object(key);
  }

  Source image_source() {
    if (auto object = nested("image_processor", {"preprocessor_config.json"})) {
      return {std::move(object), false};
    }
    if (!exists("preprocessor_config.json")) {
      throw Error(ErrorKind::checkpoint, context,
                  folder_.string() +
                      ": expected preprocessor_config.json, or processor_config.json with "
                      "image_processor; they hold the constants of the normalisation");
    }
    return {JsonObject::read(folder_ / "preprocessor_config.json", context), false};
  }

  Source video_source(const Source& image) {
    if (auto object = nested("video_processor", {"video_preprocessor_config.json"})) {
      return {std::move(object), true};
    }
    if (exists("video_preprocessor_config.json")) {
      return {JsonObject::read(folder_ / "video_preprocessor_config.json", context), true};
    }
    if (exists("preprocessor_config.json")) {
      if (image.object->origin("").starts_with("preprocessor_config.json")) {
        return {image.object, true};
      }
      return {JsonObject::read(folder_ / "preprocessor_config.json", context), true};
    }
    return {std::nullopt, true};
  }

  VideoRule video_rule(const Source& video) {
    const VideoRule of_family =
        vision_.family == Family::qwen3_vl ? VideoRule::qwen3 : VideoRule::qwen2;
    if (!video.object || !video.object->has("video_processor_type")) return of_family;
    const std::string type = video.object->text("video_processor_type");
    const std::string expected =
        of_family == VideoRule::qwen3 ? "Qwen3VLVideoProcessor" : "Qwen2VLVideoProcessor";
    if (type != expected) {
      video.object->fail("video_processor_type", "expected \"" + expected + "\" of " +
                                                     std::string(to_string(vision_.family)) +
                                                     ", found \"" + type + "\"");
    }
    return of_family;
  }

  NormConstants constants(const JsonObject& object, const std::string& medium) {
    const std::array<double, 3> mean = object.three_numbers("image_mean");
    const std::array<double, 3> std = object.three_numbers("image_std");
    for (const double value : std) {
      if (!(value > 0.0))
        object.fail("image_std", "expected numbers above 0, found " + text_of(std));
    }
    double rescale_factor = default_rescale_factor;
    std::string rescale_origin(image_processor_defaults().origin);
    if (object.has("rescale_factor")) {
      rescale_factor = object.number("rescale_factor");
      rescale_origin = object.origin("rescale_factor");
      if (!(rescale_factor > 0.0)) {
        object.fail("rescale_factor",
                    "expected a number above 0, found " + text_of(rescale_factor));
      }
    }
    record(medium + "mean", text_of(mean), object.origin("image_mean"));
    record(medium + "std", text_of(std), object.origin("image_std"));
    record(medium + "rescale_factor", text_of(rescale_factor), rescale_origin);
    return {mean, std, rescale_factor};
  }

  static void check_same_constants(const NormConstants& image, const NormConstants& video,
                                   const JsonObject& object) {
    const auto differ = [&](const char* key, const std::string& expected,
                            const std::string& found) {
      if (expected != found) {
        object.fail(key,
                    found + " for video, " + expected + " for images; one tower normalises both");
      }
    };
    differ("image_mean", text_of(image.mean()), text_of(video.mean()));
    differ("image_std", text_of(image.std()), text_of(video.std()));
    differ("rescale_factor", text_of(image.rescale_factor()), text_of(video.rescale_factor()));
  }

  static void refuse_unsupported_steps(const JsonObject& object) {
    for (const char* key : {"do_resize", "do_rescale", "do_normalize", "do_convert_rgb"}) {
      if (object.has(key) && !object.boolean(key)) {
        object.fail(key,
                    "is false; vtower does this step always, so its results would not be the "
                    "reference's");
      }
    }
    if (object.has("cap_pixels_per_frame") && object.boolean("cap_pixels_per_frame")) {
      object.fail("cap_pixels_per_frame", "is true; vtower does not follow this rule");
    }
    if (!object.has("image_processor_type")) return;
    static const std::set<std::string> known{"Qwen2VLImageProcessor", "Qwen2VLImageProcessorFast",
                                             "Qwen2VLImageProcessorPil",
                                             "Qwen2_5_VLImageProcessor"};
    const std::string type = object.text("image_processor_type");
    if (!known.contains(type)) {
      object.fail("image_processor_type",
                  "expected Qwen2VLImageProcessor or its variants, found \"" + type + "\"");
    }
  }

  void check_layout(const JsonObject& object, const ProcessorDefaults& defaults) const {
    const auto check = [&](const char* key, std::int64_t by_default, std::int64_t tower) {
      const bool stated = object.has(key);
      const std::int64_t value = stated ? object.integer(key, 1, 1 << 20) : by_default;
      if (value == tower) return;
      object.fail(key, std::to_string(value) + (stated ? "" : " (key absent, ") +
                           (stated ? "" : std::string(defaults.origin) + ")") +
                           " contradicts config.json, which says " + std::to_string(tower));
    };
    check("patch_size", defaults.layout.patch_size, vision_.layout.patch_size);
    check("temporal_patch_size", defaults.layout.temporal_patch_size,
          vision_.layout.temporal_patch_size);
    check("merge_size", defaults.layout.merge_size, vision_.layout.merge_size);
  }

  static Resample resample(const JsonObject& object) {
    if (!object.has("resample")) return default_resample;
    const std::int64_t code = object.integer("resample", 0, 5);
    if (code > 3) {
      object.fail("resample",
                  "expected 0 (nearest), 1 (Lanczos), 2 (bilinear) or 3 (bicubic), "
                  "found " +
                      std::to_string(code) + (code == 4 ? " (box)" : " (Hamming)"));
    }
    return static_cast<Resample>(code);
  }

  PixelLimits limits(const JsonObject& object, const ProcessorDefaults& defaults, MinMaxKeys keys,
                     const std::string& name) {
    constexpr std::int64_t most = std::int64_t{1} << 52;
    PixelLimits limits = defaults.limits;
    std::string min_origin(defaults.origin);
    std::string max_origin(defaults.origin);
    bool has_min = true;
    bool has_max = true;
    if (object.has("size")) {
      const JsonObject size = object.object("size");
      has_min = size.has("shortest_edge");
      has_max = size.has("longest_edge");
      if (has_min) {
        limits.min_pixels = size.integer("shortest_edge", 1, most);
        min_origin = size.origin("shortest_edge");
      }
      if (has_max) {
        limits.max_pixels = size.integer("longest_edge", 1, most);
        max_origin = size.origin("longest_edge");
      }
    }
    const auto overwrite = [&](const char* key, std::int64_t& value, std::string& origin,
                               bool& has) {
      if (!object.has(key)) return;
      const std::int64_t wanted = object.integer(key, 1, most);
      if (keys == MinMaxKeys::ignore) {
        if (wanted != value) {
          notes_.push_back(object.origin(key) + " is ignored, as Qwen3VLVideoProcessor does; " +
                           origin + " says " + std::to_string(value));
        }
        return;
      }
      if (has && object.has("size") && wanted != value) {
        notes_.push_back(object.origin(key) + " " + std::to_string(wanted) + " overwrites " +
                         origin + " " + std::to_string(value) + ", as in the reference");
      }
      value = wanted;
      origin = object.origin(key);
      has = true;
    };
    overwrite("min_pixels", limits.min_pixels, min_origin, has_min);
    overwrite("max_pixels", limits.max_pixels, max_origin, has_max);
    if (!has_min || !has_max) {
      object.fail("size",
                  std::string("expected shortest_edge and longest_edge (areas in pixels), ") +
                      (has_min ? "longest_edge" : "shortest_edge") + " is absent");
    }
    if (limits.min_pixels > limits.max_pixels) {
      throw Error(ErrorKind::checkpoint, context,
                  (folder_ / "").string() + min_origin + " " + std::to_string(limits.min_pixels) +
                      " is above " + max_origin + " " + std::to_string(limits.max_pixels));
    }
    record(name + ".min_pixels", std::to_string(limits.min_pixels), min_origin);
    record(name + ".max_pixels", std::to_string(limits.max_pixels), max_origin);
    return limits;
  }

  void read_sampling(const JsonObject& object, PixelSpec& pixels) {
    constexpr std::int64_t most = 1 << 30;
    if (object.has("do_sample_frames")) {
      pixels.do_sample_frames = object.boolean("do_sample_frames");
    }
    if (object.has("fps")) {
      pixels.fps = object.number("fps");
      if (!(*pixels.fps > 0.0)) {
        object.fail("fps", "expected a number above 0, found " + text_of(*pixels.fps));
      }
      record("fps", text_of(*pixels.fps), object.origin("fps"));
    }
    const auto count = [&](const char* key) -> std::optional<std::int64_t> {
      if (!object.has(key)) return std::nullopt;
      const std::int64_t value = object.integer(key, 1, most);
      record(key, std::to_string(value), object.origin(key));
      return value;
    };
    pixels.num_frames = count("num_frames");
    pixels.min_frames = count("min_frames");
    pixels.max_frames = count("max_frames");
    if (pixels.fps && pixels.num_frames) {
      object.fail("num_frames", "contradicts fps; the reference takes one of them");
    }
    if (pixels.min_frames && pixels.max_frames && *pixels.min_frames > *pixels.max_frames) {
      object.fail("min_frames", std::to_string(*pixels.min_frames) + " is above max_frames " +
                                    std::to_string(*pixels.max_frames));
    }
  }

  void record(const std::string& name, const std::string& value, const std::string& origin) {
    origins_.push_back({name, value, origin});
  }

  void note_unread(const JsonObject& object) {
    static const std::set<std::string> without_effect{"processor_class", "video_processor_type",
                                                      "image_processor_type", "auto_map"};
    std::string names;
    for (const std::string& key : object.unread_keys()) {
      if (!without_effect.contains(key)) names += (names.empty() ? "" : ", ") + key;
    }
    if (names.empty()) return;
    const std::string note = object.origin("") + "keys without effect here: " + names;
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
  }

  const std::filesystem::path& folder_;
  const VisionConfig& vision_;
  std::vector<ValueOrigin> origins_;
  std::vector<std::string> notes_;
};

PreprocessorConfig read_preprocessor_config(const std::filesystem::path& folder,
                                            const VisionConfig& vision) {
  return PreprocessorReader(folder, vision).read();
}

}  // namespace vtower
