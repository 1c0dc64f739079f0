// The record that travels in every output: configs/record.schema.json.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/media_arguments.h"
#include "engine/batch_plan.h"
#include "engine/record_json.h"
#include "tower/placement.h"

namespace vtower::cli {

using Json = nlohmann::ordered_json;

// Versions of vtower and of the libraries that decide about pixels and numbers.
Json versions_json();
// The instruction set that LibTorch's CPU kernels run with: "AVX2", "AVX512", ...
std::string cpu_capability();
// Hash, family, prefix and tensor count; reads all vision tensors.
Json checkpoint_json(const Checkpoint& checkpoint);
Json norm_json(const PreprocessorConfig& preprocessor);
Json profile_json(const MediaArguments& media);
Json plan_json(const BatchPlan& plan);
// What ran: mode, device, dtype, threads, instruction set, reduced-precision switches.
Json attestation_json(std::string_view mode, const Placement& placement, int threads);
Json origins_json(const std::vector<ValueOrigin>& origins);

// The header of an output file: {"format": "pt", "vtower": record}.
std::map<std::string, std::string> file_metadata(const Json& record);

}  // namespace vtower::cli
