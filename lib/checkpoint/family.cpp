#include "checkpoint/family.h"

#include <array>

namespace vtower {
namespace {

struct Name {
  std::string_view name;
  Family family;
};

constexpr std::array model_types{
    Name{"qwen2_vl", Family::qwen2_vl},
    Name{"qwen2_vl_vision", Family::qwen2_vl},
    Name{"qwen2_5_vl", Family::qwen2_5_vl},
    Name{"qwen2_5_vl_vision", Family::qwen2_5_vl},
    Name{"qwen2_5_omni", Family::qwen2_5_vl},
    Name{"qwen2_5_omni_thinker", Family::qwen2_5_vl},
    Name{"qwen2_5_omni_vision_encoder", Family::qwen2_5_vl},
    Name{"qwen3_vl", Family::qwen3_vl},
    Name{"qwen3_vl_vision", Family::qwen3_vl},
    Name{"qwen3_vl_moe", Family::qwen3_vl},
    Name{"qwen3_vl_moe_vision", Family::qwen3_vl},
};

constexpr std::array architectures{
    Name{"Qwen2VLModel", Family::qwen2_vl},
    Name{"Qwen2VLForConditionalGeneration", Family::qwen2_vl},
    Name{"Qwen2_5_VLModel", Family::qwen2_5_vl},
    Name{"Qwen2_5_VLForConditionalGeneration", Family::qwen2_5_vl},
    Name{"Qwen2_5OmniModel", Family::qwen2_5_vl},
    Name{"Qwen2_5OmniForConditionalGeneration", Family::qwen2_5_vl},
    Name{"Qwen2_5OmniThinkerForConditionalGeneration", Family::qwen2_5_vl},
    Name{"Qwen3VLModel", Family::qwen3_vl},
    Name{"Qwen3VLForConditionalGeneration", Family::qwen3_vl},
    Name{"Qwen3VLMoeModel", Family::qwen3_vl},
    Name{"Qwen3VLMoeForConditionalGeneration", Family::qwen3_vl},
};

template <std::size_t N>
std::optional<Family> look_up(const std::array<Name, N>& names, std::string_view name) noexcept {
  for (const Name& known : names) {
    if (known.name == name) return known.family;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Family family) noexcept {
  switch (family) {
    case Family::qwen2_vl: return "qwen2_vl";
    case Family::qwen2_5_vl: return "qwen2_5_vl";
    case Family::qwen3_vl: return "qwen3_vl";
  }
  return "unknown";
}

std::optional<Family> family_of_model_type(std::string_view name) noexcept {
  return look_up(model_types, name);
}

std::optional<Family> family_of_architecture(std::string_view name) noexcept {
  return look_up(architectures, name);
}

std::string known_model_types() {
  std::string text;
  for (const Name& known : model_types) {
    if (!text.empty()) text += ", ";
    text += known.name;
  }
  return text;
}

}  // namespace vtower
