// How far two sides may be apart, and who said so.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "check/token_sums.h"
#include "core/dtype.h"

namespace vtower {

// A file of configs/policy.schema.json. `exact` and `tolerance` are conditions beside the limit of
// a token, never in its place: they cannot make a comparison pass that would not pass without them.
struct Policy {
  double k = 0;                          // limit of a token = k * floor, where there is a truth
  std::map<std::string, double> limits;  // "fp32", "fp16", "bf16": a token's, where there is none
  bool exact = false;                    // the same bytes
  std::optional<ValueTolerance> tolerance;  // of each value
  std::string reason;                       // why it is looser than the default
  std::string date;                         // of the reason, YYYY-MM-DD

  // configs/default.json as the build took it in.
  static const Policy& standard();

  // What `text` says; the rest as in the default. Throws Error{usage} naming `source` for invalid
  // JSON, unknown or repeated keys, values of the wrong type, negative, infinite or NaN numbers,
  // and as check() does.
  static Policy parse(std::string_view text, const std::string& source);
  // The same of a file; Error{unreadable} where it cannot be read.
  static Policy read(const std::filesystem::path& path);

  // Throws Error{usage} when a number is negative or not finite, or when k or a limit is larger
  // than the default's while there is no reason or no date. For policies changed after parse().
  void check(const std::string& source) const;

  // Of a token's error, where there is no truth: the looser of both element types. f64: f32's.
  [[nodiscard]] double limit(DType a, DType b) const;

  [[nodiscard]] nlohmann::ordered_json to_json() const;
};

extern const std::string_view default_policy_text;

}  // namespace vtower
