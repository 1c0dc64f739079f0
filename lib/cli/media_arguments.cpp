#include "cli/media_arguments.h"

#include <iostream>
#include <map>

#include "core/error.h"

namespace vtower::cli {
namespace {

const std::map<std::string, Profile> profiles{
    {"vllm", Profile::vllm}, {"hf", Profile::hf}, {"hf-pil", Profile::hf_pil}};
const std::map<std::string, MediaKind> kinds{{"auto", MediaKind::automatic},
                                             {"image", MediaKind::image},
                                             {"video", MediaKind::video}};
const std::map<std::string, SampleBy> sample_rules{{"index", SampleBy::index},
                                                   {"time", SampleBy::time}};
const std::map<std::string, OnCorrupt> corrupt_policies{{"fail", OnCorrupt::fail},
                                                        {"nearest", OnCorrupt::nearest}};

void raise_limit(PixelLimits& limits, std::optional<std::int64_t> min_pixels,
                 std::optional<std::int64_t> max_pixels, const std::string& what) {
  limits.min_pixels = min_pixels.value_or(limits.min_pixels);
  limits.max_pixels = max_pixels.value_or(limits.max_pixels);
  if (limits.min_pixels > limits.max_pixels) {
    throw Error(ErrorKind::usage, "options",
                what + ": --min-pixels " + std::to_string(limits.min_pixels) +
                    " is above --max-pixels " + std::to_string(limits.max_pixels) +
                    " (what is not given comes from the checkpoint)");
  }
}

template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

void MediaArguments::add_to(CLI::App& app) {
  const auto group = [&](CLI::Option* option, const std::string& name) { option->group(name); };
  app.add_option("INPUT", inputs,
                 "files, folders, globs, - (list on standard input), @list.txt, dumps of raw "
                 "patches")
      ->required();
  app.add_flag("-0", nul_separated, "lists are separated by NUL instead of newline");

  app.add_option("--profile", options.profile, "the reference whose pixels are reproduced")
      ->transform(CLI::CheckedTransformer(profiles))
      ->option_text("vllm|hf|hf-pil [vllm]")
      ->group("Pixels");
  app.add_option("--as", options.kind, "take files as pictures or as clips")
      ->transform(CLI::CheckedTransformer(kinds))
      ->option_text("auto|image|video [auto]")
      ->group("Pixels");
  group(app.add_option("--min-pixels", min_pixels, "area after the resize [the checkpoint's]")
            ->check(CLI::PositiveNumber),
        "Pixels");
  group(app.add_option("--max-pixels", max_pixels, "area after the resize [the checkpoint's]")
            ->check(CLI::PositiveNumber),
        "Pixels");
  group(app.add_option("--max-image-pixels", options.max_image_pixels,
                       "refuse larger pictures and frames from their header")
            ->capture_default_str()
            ->check(CLI::PositiveNumber),
        "Pixels");

  CLI::Option* fps = app.add_option("--fps", options.video.fps, "frames per second to sample")
                         ->check(CLI::PositiveNumber)
                         ->group("Video");
  app.add_option("--num-frames", options.video.num_frames, "frames to sample")
      ->check(CLI::PositiveNumber)
      ->excludes(fps)
      ->group("Video");
  group(app.add_option("--min-frames", options.video.min_frames, "least frames of a clip")
            ->check(CLI::PositiveNumber),
        "Video");
  group(app.add_option("--max-frames", options.video.max_frames, "most frames of a clip")
            ->check(CLI::PositiveNumber),
        "Video");
  app.add_option("--sample-by", options.video.sample_by, "pick frames by number or by time")
      ->transform(CLI::CheckedTransformer(sample_rules))
      ->option_text("index|time [index]")
      ->group("Video");
  app.add_option("--on-corrupt", options.video.on_corrupt,
                 "what a corrupt frame does: fail its item, or be replaced by the nearest clean one")
      ->transform(CLI::CheckedTransformer(corrupt_policies))
      ->option_text("fail|nearest [fail]")
      ->group("Video");
  group(app.add_option("--max-video-frames", options.max_video_frames,
                       "refuse clips that would use more frames")
            ->capture_default_str()
            ->check(CLI::PositiveNumber),
        "Video");
}

PixelSpec MediaArguments::apply_to(PixelSpec spec) const {
  const auto& video = options.video;
  if (video.min_frames && video.max_frames && *video.min_frames > *video.max_frames) {
    throw Error(ErrorKind::usage, "options",
                "--min-frames " + std::to_string(*video.min_frames) + " is above --max-frames " +
                    std::to_string(*video.max_frames));
  }
  if (options.kind != MediaKind::video) {
    raise_limit(spec.image_limits, min_pixels, max_pixels, "pictures");
  }
  if (options.kind != MediaKind::image) {
    raise_limit(spec.video_limits, min_pixels, max_pixels, "clips");
  }
  return spec;
}

std::vector<std::filesystem::path> MediaArguments::paths() const {
  return expand_inputs(inputs, nul_separated ? ListSeparator::nul : ListSeparator::newline,
                       std::cin);
}

nlohmann::ordered_json MediaArguments::to_json() const {
  const char* kind_names[] = {"auto", "image", "video"};
  return {{"as", kind_names[static_cast<int>(options.kind)]},
          {"min_pixels", or_null(min_pixels)},
          {"max_pixels", or_null(max_pixels)},
          {"max_image_pixels", options.max_image_pixels},
          {"fps", or_null(options.video.fps)},
          {"num_frames", or_null(options.video.num_frames)},
          {"min_frames", or_null(options.video.min_frames)},
          {"max_frames", or_null(options.video.max_frames)},
          {"sample_by", to_string(options.video.sample_by)},
          {"on_corrupt", to_string(options.video.on_corrupt)},
          {"max_video_frames", options.max_video_frames}};
}

}  // namespace vtower::cli
