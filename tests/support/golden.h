// Where the reference data lie.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace vtower::test {

// The environment says otherwise where a build runs on another machine (scripts/test-gpu).
inline std::filesystem::path golden(const std::filesystem::path& relative) {
  const char* moved = std::getenv("VTOWER_GOLDEN_DIR");
  return std::filesystem::path(moved != nullptr ? moved : VTOWER_GOLDEN_DIR) / relative;
}

inline nlohmann::json golden_json(const std::filesystem::path& relative) {
  std::ifstream file(golden(relative));
  if (!file) throw std::runtime_error("no reference data at " + golden(relative).string());
  return nlohmann::json::parse(file);
}

}  // namespace vtower::test
