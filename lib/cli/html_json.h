// JSON as tables, for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vtower::cli {

// Objects as tables of keys and values, lists of alike objects as tables with a column for each
// key, other lists in a line. Everything is escaped.
std::string html_json(const nlohmann::ordered_json& value);

}  // namespace vtower::cli
