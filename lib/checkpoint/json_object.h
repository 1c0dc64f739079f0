// Typed, checked access to an object of a JSON file: every error names file and key.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace vtower {

// Keeps the parsed file alive. A key with the value null counts as absent, as in the reference.
// All readers throw Error{checkpoint} when the key is absent or of another type.
class JsonObject {
 public:
  // Throws Error{checkpoint} when the file is missing, larger than 100 MB or no strict JSON object.
  static JsonObject read(const std::filesystem::path& file, std::string context);

  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] JsonObject object(const std::string& key) const;
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t least,
                                     std::int64_t most) const;
  [[nodiscard]] double number(const std::string& key) const;  // finite
  [[nodiscard]] bool boolean(const std::string& key) const;
  [[nodiscard]] std::string text(const std::string& key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const;
  [[nodiscard]] std::array<double, 3> three_numbers(const std::string& key) const;

  [[nodiscard]] std::vector<std::string> keys() const;
  // Keys with a value that no call above has named yet.
  [[nodiscard]] std::vector<std::string> unread_keys() const;

  // "config.json: vision_config.depth".
  [[nodiscard]] std::string origin(const std::string& key) const;
  // Throws Error{checkpoint}: path of the file, key and `what`.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  JsonObject(std::shared_ptr<const nlohmann::json> value, std::filesystem::path file,
             std::string path, std::string context);
  const nlohmann::json& required(const std::string& key, const char* type) const;
  [[noreturn]] void wrong_type(const std::string& key, const char* type) const;
  [[nodiscard]] std::string full_key(const std::string& key) const;

  std::shared_ptr<const nlohmann::json> value_;
  std::filesystem::path file_;
  std::string path_;  // of this object in the file: "" or "vision_config"
  std::string context_;
  mutable std::set<std::string> read_;
};

}  // namespace vtower
