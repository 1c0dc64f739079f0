// What a user may choose about how media become pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vtower {

// The reference whose pixels are reproduced bit for bit (versions: tests/golden/media/README.md).
//   vllm    Pillow decode, orientation applied, transparency on white, torchvision resize;
//           video as OpenCV >= 4.13
//   hf      torchvision decode (no orientation, alpha stripped) and resize; video as torchcodec
//   hf_pil  Pillow decode and resize, orientation applied, alpha dropped; video as torchcodec
enum class Profile { vllm, hf, hf_pil };

// Whether a file is a picture or a clip; automatic: GIF, WebP and APNG are pictures, containers
// are clips.
enum class MediaKind { automatic, image, video };

enum class SampleBy { index, time };
enum class OnCorrupt { fail, nearest };

std::string_view to_string(Profile profile) noexcept;  // "vllm", "hf", "hf-pil"
std::string_view to_string(SampleBy rule) noexcept;
std::string_view to_string(OnCorrupt policy) noexcept;

// Requests on frame sampling; what is empty follows the profile's and the checkpoint's rule.
// fps and num_frames exclude each other (lib/cli refuses the pair).
struct VideoOptions {
  std::optional<double> fps;
  std::optional<std::int64_t> num_frames;
  std::optional<std::int64_t> min_frames;
  std::optional<std::int64_t> max_frames;
  SampleBy sample_by = SampleBy::index;
  OnCorrupt on_corrupt = OnCorrupt::fail;
};

struct MediaOptions {
  Profile profile = Profile::vllm;
  MediaKind kind = MediaKind::automatic;
  VideoOptions video;
  std::int64_t max_image_pixels = 178'956'970;  // --max-image-pixels, also per video frame
  std::int64_t max_video_frames = 768;          // --max-video-frames
  int decode_threads = 1;  // threads that one clip may be decoded with; pixels do not depend on it
};

}  // namespace vtower
