#include "cli/media_arguments.h"

#include <iostream>

#include "cli/choice.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

const Choices<Profile> profiles{
    {"vllm", Profile::vllm}, {"hf", Profile::hf}, {"hf-pil", Profile::hf_pil}};
const Choices<MediaKind> kinds{
    {"auto", MediaKind::automatic}, {"image", MediaKind::image}, {"video", MediaKind::video}};
const Choices<SampleBy> sample_rules{{"index", SampleBy::index}, {"time", SampleBy::time}};
const Choices<OnCorrupt> corrupt_policies{{"fail", OnCorrupt::fail},
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
  app.add_option("INPUT", inputs,
                 "files, folders, globs, - (list on standard input), @list.txt, dumps of raw "
                 "patches")
      ->required();
  app.add_flag("-0", nul_separated, "lists are separated by NUL instead of newline");

  const auto add = [&](const std::string& group, const std::string& name, auto& value,
                       const std::string& description) {
    return app.add_option(name, value, description)
        ->check(CLI::PositiveNumber)
        ->option_text("N")
        ->group(group);
  };
  add_choice(app, "--profile", options.profile, profiles,
             "the reference whose pixels are reproduced")
      ->group("Pixels");
  add_choice(app, "--as", options.kind, kinds, "take files as pictures or as clips")
      ->group("Pixels");
  add("Pixels", "--min-pixels", min_pixels, "area after the resize [the checkpoint's]");
  add("Pixels", "--max-pixels", max_pixels, "area after the resize [the checkpoint's]");
  add("Pixels", "--max-image-pixels", options.max_image_pixels,
      "refuse larger pictures and frames from their header [178956970]");

  CLI::Option* fps =
      add("Video", "--fps", options.video.fps, "frames per second to sample [the profile's rule]");
  add("Video", "--num-frames", options.video.num_frames, "frames to sample [the profile's rule]")
      ->excludes(fps);
  add("Video", "--min-frames", options.video.min_frames, "least frames of a clip [the rule's]");
  add("Video", "--max-frames", options.video.max_frames, "most frames of a clip [the rule's]");
  add_choice(app, "--sample-by", options.video.sample_by, sample_rules,
             "pick frames by number or by time")
      ->group("Video");
  add_choice(app, "--on-corrupt", options.video.on_corrupt, corrupt_policies,
             "a corrupt frame fails its item or is replaced by the nearest clean one")
      ->group("Video");
  add("Video", "--max-video-frames", options.max_video_frames,
      "refuse clips that would use more frames [768]");
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
