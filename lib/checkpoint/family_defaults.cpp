#include "checkpoint/family_defaults.h"

namespace vtower {

// transformers 5.17.0: Qwen2VLVisionConfig, Qwen2_5_VLVisionConfig and Qwen3VLVisionConfig for
// hidden_act, in_channels and the theta of rope_parameters; norm_eps is a literal of
// Qwen2VLVisionBlock, Qwen2_5_VLVisionBlock and Qwen3VLVisionBlock.
const TowerDefaults& tower_defaults(Family family) noexcept {
  static constexpr TowerDefaults qwen2{Activation::quick_gelu, 3, 1e-6, 10000.0,
                                       "default of Qwen2VLVisionConfig (transformers 5.17.0)"};
  static constexpr TowerDefaults qwen2_5{std::nullopt, 3, 1e-6, 10000.0,
                                         "default of Qwen2_5_VLVisionConfig (transformers 5.17.0)"};
  static constexpr TowerDefaults qwen3{std::nullopt, 3, 1e-6, 10000.0,
                                       "default of Qwen3VLVisionConfig (transformers 5.17.0)"};
  switch (family) {
    case Family::qwen2_vl: return qwen2;
    case Family::qwen2_5_vl: return qwen2_5;
    case Family::qwen3_vl: break;
  }
  return qwen3;
}

// All families use one image processor class; its defaults do not follow the family.
const ProcessorDefaults& image_processor_defaults() noexcept {
  static constexpr ProcessorDefaults defaults{
      {56 * 56, 28 * 28 * 1280},
      {14, 2, 2},
      "default of Qwen2VLImageProcessor (transformers 5.17.0)"};
  return defaults;
}

const ProcessorDefaults& video_processor_defaults(VideoRule rule) noexcept {
  static constexpr ProcessorDefaults qwen2{
      {128 * 28 * 28, 768 * 28 * 28},
      {14, 2, 2},
      "default of Qwen2VLVideoProcessor (transformers 5.17.0)"};
  static constexpr ProcessorDefaults qwen3{
      {128 * 32 * 32, 768 * 32 * 32},
      {16, 2, 2},
      "default of Qwen3VLVideoProcessor (transformers 5.17.0)"};
  return rule == VideoRule::qwen2 ? qwen2 : qwen3;
}

}  // namespace vtower
