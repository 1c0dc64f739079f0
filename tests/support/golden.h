// Where the reference data lie.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace vtower::test {

inline std::filesystem::path golden(const std::filesystem::path& relative) {
  return std::filesystem::path(VTOWER_GOLDEN_DIR) / relative;
}

inline nlohmann::json golden_json(const std::filesystem::path& relative) {
  std::ifstream file(golden(relative));
  if (!file) throw std::runtime_error("no reference data at " + golden(relative).string());
  return nlohmann::json::parse(file);
}

}  // namespace vtower::test
