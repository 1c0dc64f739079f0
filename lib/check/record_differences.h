// What two vtower records say of how their numbers came about.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace vtower {

struct RecordDifferences {
  // Numbers of such runs mean different things: another checkpoint, norm constants, profile.
  std::vector<std::string> contradictions;
  // Choices that may explain a difference: options, versions, mode, device, dtype.
  std::vector<std::string> choices;
};

// `a` and `b`: records, or null for a side that has none. What only one of them has is no
// contradiction.
RecordDifferences record_differences(const nlohmann::ordered_json& a,
                                     const nlohmann::ordered_json& b);

// "inputs differ ..." of two items of records; empty where they do not, or where one does not say.
// Tells a file that was written anew from other pixels.
std::string input_difference(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

// Element type that the run computed in, which a file may hold widened.
std::optional<DType> run_dtype(const nlohmann::ordered_json& record);

}  // namespace vtower
