#include "check/report_json.h"

#include <algorithm>
#include <cmath>

#include "check/printable.h"
#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json text(const std::string& value) {
  return valid_utf8(value);
}

Json text_or_null(const std::string& value) {
  return value.empty() ? Json() : text(value);
}

Json number_or_null(const std::optional<double>& value) {
  return value ? number(*value) : Json();
}

Json list(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(text(line));
  return json;
}

// Values that come from elsewhere, held to the same rules.
Json cleaned(const Json& value) {
  if (value.is_string()) return text(value.get<std::string>());
  if (value.is_number_float()) return number(value.get<double>());
  if (value.is_array()) {
    Json copy = Json::array();
    for (const Json& entry : value) copy.push_back(cleaned(entry));
    return copy;
  }
  if (!value.is_object()) return value;
  Json copy = Json::object();
  for (const auto& [key, entry] : value.items()) copy[valid_utf8(key)] = cleaned(entry);
  return copy;
}

Json cause_json(const Cause& cause) {
  Json runner_up;
  if (cause.runner_up) {
    runner_up = {{"id", text(cause.runner_up->id)},
                 {"residual", number(cause.runner_up->residual)}};
  }
  return {{"id", text(cause.id)},
          {"also", list(cause.also)},
          {"sentence", text(cause.sentence)},
          {"side", text(cause.side)},
          {"residual", number(cause.residual)},
          {"limit", number(cause.limit)},
          {"runner_up", std::move(runner_up)}};
}

Json worst_json(const Worst& worst) {
  return {{"pair", text(worst.pair)},
          {"item", text(worst.item)},
          {"tensor", text(worst.tensor)},
          {"token", worst.token},
          {"box_px", worst.box_px ? Json(*worst.box_px) : Json()},
          {"frames", worst.frames ? Json(*worst.frames) : Json()},
          {"value", number(worst.value)},
          {"limit", number(worst.limit)},
          {"pattern", text(worst.pattern)}};
}

Json item_json(const ItemReport& item) {
  const ItemComparison& found = item.comparison;
  Json grid;
  if (item.grid) grid = {item.grid->t, item.grid->h, item.grid->w};
  return {{"item", text(item.item)},
          {"tensor", text(item.tensor)},
          {"input_sha256", text_or_null(item.input_sha256)},
          {"grid_thw", std::move(grid)},
          {"passes", item.passes()},
          {"identical", found.identical},
          {"tokens", found.tokens},
          {"tokens_beyond", item.tokens_beyond()},
          {"worst_token", found.worst_token},
          {"worst_error", number(found.worst_error)},
          {"limit", number(item.limit)},
          {"floor", number_or_null(item.floor)},
          {"used", number(item.used())},
          {"pooled_error", number(found.pooled_error)},
          {"error_quantiles",
           {{"median", number(found.quantiles.median)},
            {"p90", number(found.quantiles.p90)},
            {"p99", number(found.quantiles.p99)}}},
          {"cosine",
           {{"smallest", number(found.smallest_cosine)},
            {"p1", number(found.cosine_p1)},
            {"median", number(found.median_cosine)}}},
          {"norm_ratio",
           {{"smallest", number(found.smallest_norm_ratio)},
            {"largest", number(found.largest_norm_ratio)}}},
          {"largest_difference", number(found.largest_difference)},
          {"values_beyond_tolerance", found.beyond},
          {"non_finite", {{"a", found.non_finite_a}, {"b", found.non_finite_b}}},
          {"all_zero", {{"a", found.all_zero_a}, {"b", found.all_zero_b}}}};
}

Json pair_json(const PairReport& pair) {
  Json items = Json::array();
  for (const ItemReport& item : pair.items) items.push_back(item_json(item));
  Json skipped = Json::array();
  for (const SkippedItem& item : pair.skipped) {
    skipped.push_back({{"item", text(item.item)},
                       {"tensor", text_or_null(item.tensor)},
                       {"verdict", to_string(item.verdict)},
                       {"reason", text(item.reason)}});
  }
  return {{"a", text(pair.a)},
          {"b", text(pair.b)},
          {"verdict", to_string(pair.verdict)},
          {"reason", text_or_null(pair.reason)},
          {"identical", pair.identical},
          {"must_be_identical", pair.must_be_identical},
          {"smallest_k", number_or_null(pair.smallest_k)},
          {"notes", list(pair.notes)},
          {"items", std::move(items)},
          {"skipped", std::move(skipped)}};
}

Json object_or_empty(const Json& value) {
  return value.is_object() ? cleaned(value) : Json::object();
}

}  // namespace

Json to_json(const Report& report) {
  Json pairs = Json::array();
  for (const PairReport& pair : report.pairs) pairs.push_back(pair_json(pair));
  return {{"command", text(report.command)},
          {"verdict", to_string(report.verdict)},
          {"exit_code", report.exit_code},
          {"cause", report.cause ? cause_json(*report.cause) : Json()},
          {"algebra", list(report.algebra)},
          {"first_wrong_stage", text_or_null(report.first_wrong_stage)},
          {"worst", report.worst ? worst_json(*report.worst) : Json()},
          {"next_steps", list(report.next_steps)},
          {"notes", list(report.notes)},
          {"not_run", list(report.not_run)},
          {"failed", cleaned(report.failed)},
          {"pairs", std::move(pairs)},
          {"policy", object_or_empty(report.policy)},
          {"ledger", object_or_empty(report.ledger)},
          {"attestation", object_or_empty(report.attestation)}};
}

}  // namespace vtower
