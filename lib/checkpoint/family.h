// The tower families that vtower knows.
#pragma once

#include <string_view>

namespace vtower {

enum class Family { qwen2_vl, qwen2_5_vl, qwen3_vl };

// "qwen2_vl", "qwen2_5_vl", "qwen3_vl": the model_type of Hugging Face's config.json.
std::string_view to_string(Family family) noexcept;

}  // namespace vtower
