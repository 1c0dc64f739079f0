// What the checkpoint's preprocessor files say: pixels for lib/media, constants for the tower.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/vision_config.h"
#include "core/pixel_spec.h"

namespace vtower {

// The constants of the normalisation. Only the reader of preprocessor files can make them, from
// values that stand in those files: there is no identity and no default for mean and std.
class NormConstants {
 public:
  [[nodiscard]] const std::array<double, 3>& mean() const noexcept { return mean_; }
  [[nodiscard]] const std::array<double, 3>& std() const noexcept { return std_; }
  [[nodiscard]] double rescale_factor() const noexcept { return rescale_factor_; }
  friend bool operator==(const NormConstants&, const NormConstants&) = default;

 private:
  friend class PreprocessorReader;
  NormConstants(std::array<double, 3> mean, std::array<double, 3> std, double rescale_factor)
      : mean_(mean), std_(std), rescale_factor_(rescale_factor) {}

  std::array<double, 3> mean_;
  std::array<double, 3> std_;
  double rescale_factor_;
};

struct PreprocessorConfig {
  PixelSpec pixels;
  NormConstants norm;
  std::vector<ValueOrigin> origins;
  std::vector<std::string>
      notes;  // conflicts resolved by the reference's precedence, hints ignored
};

// Reads processor_config.json (nested image_processor / video_processor win), then
// video_preprocessor_config.json and preprocessor_config.json. The layout must agree with the
// tower's. Throws Error{checkpoint} naming file and key: no file, absent mean or std,
// do_normalize / do_rescale / do_resize / do_convert_rgb false, image and video constants that
// differ, limits that contradict, a layout that contradicts config.json.
// Source: Qwen2VLImageProcessor, Qwen2VLVideoProcessor, Qwen3VLVideoProcessor of transformers
// 5.17.0 (keys, defaults, precedence). Thread-safe.
PreprocessorConfig read_preprocessor_config(const std::filesystem::path& folder,
                                            const VisionConfig& vision);

}  // namespace vtower
