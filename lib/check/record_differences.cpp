#include "check/record_differences.h"

#include <set>
#include <string_view>

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

// The value at "a/b/c"; null where a step is missing.
Json at(const Json& record, std::string_view path) {
  const Json* found = &record;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string key(path.substr(0, slash));
    if (!found->is_object() || !found->contains(key)) return {};
    found = &found->at(key);
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  }
  return *found;
}

std::string shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "not set";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool both_differ(const Json& a, const Json& b) {
  return !a.is_null() && !b.is_null() && a != b;
}

std::string sentence(const std::string& what, const Json& a, const Json& b) {
  return what + ": " + shown(a) + " and " + shown(b);
}

// One line for each key in which two objects differ. A key that one of them lacks is a difference.
void add_members(const std::string& what, const Json& a, const Json& b,
                 std::vector<std::string>& lines) {
  if (!a.is_object() || !b.is_object()) return;
  std::set<std::string> keys;
  for (const Json* side : {&a, &b}) {
    for (const auto& [key, value] : side->items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const Json of_a = at(a, key);
    const Json of_b = at(b, key);
    if (of_a != of_b) lines.push_back(sentence(what + " " + key, of_a, of_b));
  }
}

}  // namespace

RecordDifferences record_differences(const Json& a, const Json& b) {
  RecordDifferences found;
  const auto compare = [&](const std::string& path, const std::string& what,
                           std::vector<std::string>& lines) {
    const Json of_a = at(a, path);
    const Json of_b = at(b, path);
    if (both_differ(of_a, of_b)) lines.push_back(sentence(what, of_a, of_b));
  };
  compare("checkpoint/hash", "different checkpoints", found.contradictions);
  compare("norm/mean", "different norm means", found.contradictions);
  compare("norm/std", "different norm standard deviations", found.contradictions);
  compare("norm/rescale_factor", "different rescale factors", found.contradictions);
  compare("profile/name", "different profiles", found.contradictions);

  add_members("profile option", at(a, "profile/options"), at(b, "profile/options"), found.choices);
  add_members("version of", at(a, "version"), at(b, "version"), found.choices);
  for (const auto& [path, what] : {std::pair{"attestation/mode", "mode"},
                                   {"attestation/dtype", "dtype"},
                                   {"attestation/device", "device"},
                                   {"attestation/world_size", "ranks"},
                                   {"attestation/tf32", "TF32"}}) {
    compare(path, what, found.choices);
  }
  return found;
}

std::string input_difference(const Json& a, const Json& b) {
  const Json rows_a = at(a, "rows_sha256");
  const Json rows_b = at(b, "rows_sha256");
  const bool other_rows = both_differ(rows_a, rows_b);
  if (!both_differ(at(a, "sha256"), at(b, "sha256"))) {
    return other_rows ? "the same file, other pixels" : "";
  }
  const auto start = [](const Json& item) {
    return shown(at(item, "path")) + " (sha256 " + shown(at(item, "sha256")).substr(0, 12) + ")";
  };
  const std::string files = "inputs differ: " + start(a) + " and " + start(b);
  if (other_rows) return files + ", other pixels";
  return files + (rows_a.is_null() || rows_b.is_null() ? "" : ", the same pixels");
}

std::optional<DType> run_dtype(const Json& record) {
  const Json name = at(record, "attestation/dtype");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    if (name.is_string() && name.get<std::string>() == to_string(dtype)) return dtype;
  }
  return std::nullopt;
}

}  // namespace vtower
