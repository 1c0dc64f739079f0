// JSON that people and other programs wrote: parsed with the checks that a silent reader skips.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/error.h"

namespace vtower {

// Parses an object. Throws Error{kind, context} naming `source` on invalid JSON, invalid UTF-8, a
// duplicate key at any depth, nesting deeper than 64 levels, or anything but an object at the top.
nlohmann::json parse_json_strictly(std::string_view text, const std::string& source,
                                   const std::string& context, ErrorKind kind);

}  // namespace vtower
