// The tower families that vtower knows, and the names by which config.json says which one it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vtower {

enum class Family { qwen2_vl, qwen2_5_vl, qwen3_vl };

// "qwen2_vl", "qwen2_5_vl", "qwen3_vl": the model_type of Hugging Face's config.json.
std::string_view to_string(Family family) noexcept;

// Of `model_type` (of the model or of its vision_config) and of an entry of `architectures`; empty
// for names that vtower does not know.
// Source: the configuration classes of transformers 5.17.0.
std::optional<Family> family_of_model_type(std::string_view name) noexcept;
std::optional<Family> family_of_architecture(std::string_view name) noexcept;

// The model types above in one line, for messages.
std::string known_model_types();

}  // namespace vtower
