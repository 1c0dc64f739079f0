#include "checkpoint/json_object.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/file.h"
#include "core/json_strict.h"

namespace vtower {
namespace {

constexpr std::size_t largest_file = 100'000'000;

// Whole numbers may be written as 4 or 4.0.
std::optional<std::int64_t> whole(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(std::abs(number) < 9e15) || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

JsonObject::JsonObject(std::shared_ptr<const nlohmann::json> value, std::filesystem::path file,
                       std::string path, std::string context)
    : value_(std::move(value)),
      file_(std::move(file)),
      path_(std::move(path)),
      context_(std::move(context)) {}

JsonObject JsonObject::read(const std::filesystem::path& file, std::string context) {
  try {
    const MappedFile mapped(file);
    const auto bytes = mapped.bytes();
    if (bytes.size() > largest_file) {
      throw Error(ErrorKind::checkpoint, context,
                  file.string() + ": has " + std::to_string(bytes.size()) +
                      " bytes, expected a JSON file of at most 100 MB");
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto value = std::make_shared<const nlohmann::json>(
        parse_json_strictly(text, file.string(), context, ErrorKind::checkpoint));
    return {std::move(value), file, "", std::move(context)};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::checkpoint) throw;
    throw Error(ErrorKind::checkpoint, context, error.message());
  }
}

std::string JsonObject::full_key(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

std::string JsonObject::origin(const std::string& key) const {
  return file_.filename().string() + ": " + full_key(key);
}

void JsonObject::fail(const std::string& key, const std::string& what) const {
  throw Error(ErrorKind::checkpoint, context_, file_.string() + ": " + full_key(key) + ": " + what);
}

void JsonObject::wrong_type(const std::string& key, const char* type) const {
  std::string found =
      value_->at(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (found.size() > 80) found = found.substr(0, 77) + "...";
  fail(key, std::string("expected ") + type + ", found " + found);
}

bool JsonObject::has(const std::string& key) const {
  read_.insert(key);
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

const nlohmann::json& JsonObject::required(const std::string& key, const char* type) const {
  if (!has(key)) fail(key, std::string("expected ") + type + ", the key is absent");
  return value_->at(key);
}

JsonObject JsonObject::object(const std::string& key) const {
  const nlohmann::json& value = required(key, "an object");
  if (!value.is_object()) wrong_type(key, "an object");
  return {std::shared_ptr<const nlohmann::json>(value_, &value), file_, full_key(key), context_};
}

std::int64_t JsonObject::integer(const std::string& key, std::int64_t least,
                                 std::int64_t most) const {
  const std::optional<std::int64_t> number = whole(required(key, "a whole number"));
  if (!number) wrong_type(key, "a whole number");
  if (*number < least || *number > most) {
    fail(key, "expected " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
                  std::to_string(*number));
  }
  return *number;
}

double JsonObject::number(const std::string& key) const {
  const nlohmann::json& value = required(key, "a number");
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong_type(key, "a number");
  return value.get<double>();
}

bool JsonObject::boolean(const std::string& key) const {
  const nlohmann::json& value = required(key, "true or false");
  if (!value.is_boolean()) wrong_type(key, "true or false");
  return value.get<bool>();
}

std::string JsonObject::text(const std::string& key) const {
  const nlohmann::json& value = required(key, "a text");
  if (!value.is_string()) wrong_type(key, "a text");
  return value.get<std::string>();
}

std::vector<std::int64_t> JsonObject::integers(const std::string& key) const {
  constexpr const char* type = "a list of whole numbers";
  const nlohmann::json& value = required(key, type);
  if (!value.is_array()) wrong_type(key, type);
  std::vector<std::int64_t> numbers;
  for (const nlohmann::json& entry : value) {
    const std::optional<std::int64_t> number = whole(entry);
    if (!number) wrong_type(key, type);
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> JsonObject::texts(const std::string& key) const {
  constexpr const char* type = "a list of texts";
  const nlohmann::json& value = required(key, type);
  if (!value.is_array()) wrong_type(key, type);
  std::vector<std::string> texts;
  for (const nlohmann::json& entry : value) {
    if (!entry.is_string()) wrong_type(key, type);
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

std::array<double, 3> JsonObject::three_numbers(const std::string& key) const {
  constexpr const char* type = "three numbers";
  const nlohmann::json& value = required(key, type);
  if (!value.is_array() || value.size() != 3) wrong_type(key, type);
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!value[i].is_number() || !std::isfinite(value[i].get<double>())) wrong_type(key, type);
    numbers[i] = value[i].get<double>();
  }
  return numbers;
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : value_->items()) keys.push_back(key);
  return keys;
}

std::vector<std::string> JsonObject::unread_keys() const {
  std::vector<std::string> unread;
  for (const std::string& key : keys()) {
    if (!read_.contains(key) && !value_->at(key).is_null()) unread.push_back(key);
  }
  return unread;
}

}  // namespace vtower
