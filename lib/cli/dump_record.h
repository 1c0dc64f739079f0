// What a dump says of itself, for people.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/safetensors.h"

namespace vtower::cli {

// "[45, 48]"
std::string shape_text(const std::vector<std::int64_t>& shape);

// The record of a dump of ours; null for a foreign one. Throws Error{unreadable} where it is no
// JSON.
nlohmann::ordered_json record_of(const SafetensorsFile& file);

// Version, profile, checkpoint, mode and items, a line each.
void print_record(const nlohmann::ordered_json& record, const Terminal& terminal);

}  // namespace vtower::cli
