#include "check/policy.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "check/refuse_fast_math.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json_strict.h"

namespace vtower {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& source, const std::string& message) {
  throw Error(ErrorKind::usage, "policy", source + ": " + message);
}

std::string shortest(double value) {
  return Json(value).dump();
}

double number(const Json& value, const std::string& key, const std::string& source) {
  if (!value.is_number()) refuse(source, key + ": expected a number, found " + value.dump());
  return value.get<double>();
}

std::string text_of(const Json& value, const std::string& key, const std::string& source) {
  if (!value.is_string()) refuse(source, key + ": expected a string, found " + value.dump());
  return value.get<std::string>();
}

void require_finite(double value, const std::string& key, const std::string& source) {
  if (value >= 0 && value <= std::numeric_limits<double>::max()) return;
  refuse(source, key + ": expected a finite number of at least 0, found " + shortest(value));
}

bool is_blank(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' '; });
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto part = [&](std::size_t first, std::size_t count) {
    unsigned value = 0;
    const char* end = text.data() + first + count;
    return std::from_chars(text.data() + first, end, value).ptr == end ? value : 9999U;
  };
  using namespace std::chrono;
  return year_month_day(year(static_cast<int>(part(0, 4))), month(part(5, 2)), day(part(8, 2)))
      .ok();
}

void take_limits(const Json& value, const std::string& source, Policy& policy) {
  if (!value.is_object()) refuse(source, "limits: expected an object, found " + value.dump());
  for (const auto& [name, limit] : value.items()) {
    if (name != "fp32" && name != "fp16" && name != "bf16") {
      refuse(source, "limits: expected fp32, fp16 or bf16, found \"" + name + "\"");
    }
    policy.limits[name] = number(limit, "limits." + name, source);
  }
}

Policy with(Policy policy, std::string_view text, const std::string& source) {
  const Json json = parse_json_strictly(text, source, "policy", ErrorKind::usage);
  const auto tolerance = [&]() -> ValueTolerance& {
    if (!policy.tolerance) policy.tolerance.emplace();
    return *policy.tolerance;
  };
  for (const auto& [key, value] : json.items()) {
    if (key == "description") {
      text_of(value, key, source);
    } else if (key == "k") {
      policy.k = number(value, key, source);
    } else if (key == "limits") {
      take_limits(value, source, policy);
    } else if (key == "exact") {
      if (!value.is_boolean())
        refuse(source, "exact: expected true or false, found " + value.dump());
      policy.exact = value.get<bool>();
    } else if (key == "atol") {
      tolerance().atol = number(value, key, source);
    } else if (key == "rtol") {
      tolerance().rtol = number(value, key, source);
    } else if (key == "reason") {
      policy.reason = text_of(value, key, source);
    } else if (key == "date") {
      policy.date = text_of(value, key, source);
      if (!is_date(policy.date)) {
        refuse(source, "date: expected YYYY-MM-DD, found \"" + policy.date + "\"");
      }
    } else {
      refuse(source,
             "unknown key \"" + key +
                 "\"; the keys are description, k, limits, exact, atol, rtol, reason, date");
    }
  }
  return policy;
}

}  // namespace

const Policy& Policy::standard() {
  static const Policy policy = with({}, default_policy_text, "configs/default.json");
  return policy;
}

Policy Policy::parse(std::string_view text, const std::string& source) {
  Policy policy = with(standard(), text, source);
  policy.check(source);
  return policy;
}

Policy Policy::read(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::span<const std::uint8_t> bytes = file.bytes();
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

void Policy::check(const std::string& source) const {
  require_finite(k, "k", source);
  for (const auto& [name, limit] : limits) require_finite(limit, "limits." + name, source);
  if (tolerance) {
    require_finite(tolerance->atol, "atol", source);
    require_finite(tolerance->rtol, "rtol", source);
  }
  if (!is_blank(reason) && !date.empty()) return;
  const auto hold = [&](double value, double most, const std::string& name) {
    if (value <= most) return;
    refuse(source, name + " = " + shortest(value) + " is looser than the default's " +
                       shortest(most) + ": say why in \"reason\" and since when in \"date\"");
  };
  hold(k, standard().k, "k");
  for (const auto& [name, limit] : limits)
    hold(limit, standard().limits.at(name), "limits." + name);
}

double Policy::limit(DType a, DType b) const {
  const auto of = [&](DType dtype) {
    const auto found = limits.find(std::string(to_string(dtype)));
    return found != limits.end() ? found->second : limits.at("fp32");
  };
  return std::max(of(a), of(b));
}

nlohmann::ordered_json Policy::to_json() const {
  nlohmann::ordered_json json{{"k", k}, {"limits", limits}, {"exact", exact}};
  if (tolerance) {
    json["atol"] = tolerance->atol;
    json["rtol"] = tolerance->rtol;
  }
  if (!reason.empty()) json["reason"] = reason;
  if (!date.empty()) json["date"] = date;
  return json;
}

}  // namespace vtower
