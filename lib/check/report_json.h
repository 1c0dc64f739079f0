// A report as JSON, by configs/report.schema.json.
#pragma once

#include <nlohmann/json.hpp>

#include "check/report.h"

namespace vtower {

// Always valid JSON: a number that is not finite becomes the string "NaN", "Infinity" or
// "-Infinity", bytes that are no UTF-8 become U+FFFD. Errors of single tokens are left out.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace vtower
