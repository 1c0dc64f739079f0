// Golden inputs through the oracle, item by item, joined as the reference's files are.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
// LibTorch's logging header has a CHECK of its own; doctest's must come after it.
#include <c10/util/Logging.h>
//
#include <map>
#include <string>
#include <vector>

#include "core/raw_patch_dump.h"
#include "oracle/oracle.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"

namespace vtower::test {

struct OracleCase {
  std::string family;
  std::string name;
  std::string checkpoint;
  std::map<std::string, std::string> files;  // dtype -> file name
};

// Every case and checkpoint of the index.
inline std::vector<OracleCase> oracle_cases() {
  std::vector<OracleCase> cases;
  const nlohmann::json index = golden_json("towers/index.json");
  for (const auto& [key, entry] : index.at("cases").items()) {
    const std::size_t slash = key.find('/');
    for (const auto& [checkpoint, data] : entry.at("checkpoints").items()) {
      cases.push_back({key.substr(0, slash), key.substr(slash + 1), checkpoint,
                       data.at("files").get<std::map<std::string, std::string>>()});
    }
  }
  return cases;
}

inline SafetensorsFile case_file(const std::string& family, const std::string& file) {
  return {golden("towers/cases") / family / file, ErrorKind::unreadable};
}

inline RawPatches case_input(const std::string& family, const std::string& name,
                             const PatchLayout& layout) {
  return read_raw_patch_dump(golden("towers/cases") / family / (name + ".input.safetensors"),
                             layout);
}

// "merger", "deepstack.J" and the asked-for stages of all items.
inline std::map<std::string, at::Tensor> run_oracle(
    const oracle::Oracle& oracle, const RawPatches& patches,
    const oracle::StageRequest& stages = oracle::StageRequest::none()) {
  std::map<std::string, std::vector<at::Tensor>> parts;
  std::int64_t first_token = 0;
  for (std::size_t item = 0; item < patches.grids().size(); ++item) {
    oracle::OracleOutput output = oracle.encode_item(patches, item, stages);
    if (output.stages.contains("window_index")) {
      output.stages["window_index"] = output.stages["window_index"].add(first_token);
    }
    first_token += output.embeddings.size(0);
    output.stages["merger"] = output.embeddings;
    for (std::size_t j = 0; j < output.deepstack.size(); ++j) {
      output.stages["deepstack." + std::to_string(j)] = output.deepstack[j];
    }
    for (const auto& [stage, value] : output.stages) parts[stage].push_back(value);
  }
  std::map<std::string, at::Tensor> joined;
  for (const auto& [stage, values] : parts) joined[stage] = at::cat(values);
  return joined;
}

}  // namespace vtower::test
