// Which family a config.json describes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/family.h"
#include "checkpoint/json_object.h"

namespace vtower {

struct FoundFamily {
  Family family;
  std::vector<std::string> notes;
};

// From the model_type of the model and of its vision_config and from `architectures`, which must
// not contradict each other; `asked` decides where a model_type is unknown. Throws
// Error{checkpoint} on a contradiction, and on an unknown or absent model_type without `asked`.
FoundFamily find_family(const JsonObject& model, const JsonObject& vision,
                        std::optional<Family> asked);

}  // namespace vtower
