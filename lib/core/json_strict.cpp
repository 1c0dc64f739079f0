#include "core/json_strict.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace vtower {

nlohmann::json parse_json_strictly(std::string_view text, const std::string& source,
                                   const std::string& context, ErrorKind kind) {
  using Event = nlohmann::json::parse_event_t;
  constexpr int deepest = 64;
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Event event, nlohmann::json& parsed) {
    if (depth > deepest) throw Error(kind, context, source + ": nested deeper than 64 levels");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw Error(kind, context, source + ": duplicate key \"" + parsed.get<std::string>() + "\"");
    }
    return true;
  };
  try {
    nlohmann::json value = nlohmann::json::parse(text.begin(), text.end(), watch);
    if (!value.is_object()) throw Error(kind, context, source + ": expected a JSON object");
    return value;
  } catch (const nlohmann::json::exception& error) {
    throw Error(kind, context, source + ": invalid JSON: " + error.what());
  }
}

}  // namespace vtower
