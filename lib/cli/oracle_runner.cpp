#include "cli/oracle_runner.h"

#include <ATen/ops/cat.h>

#include <map>

namespace vtower::cli {

std::vector<ItemEmbeddings> OracleRunner::run(const RawPatches& patches, const StageTrace& trace) {
  const auto request = trace.active() ? oracle::StageRequest::all() : oracle::StageRequest::none();
  std::vector<ItemEmbeddings> items;
  std::map<std::string, std::vector<at::Tensor>> stages;
  for (std::size_t i = 0; i < patches.grids().size(); ++i) {
    oracle::OracleOutput output = oracle_.encode_item(patches, i, request);
    for (auto& [name, rows] : output.stages) stages[name].push_back(std::move(rows));
    items.push_back(
        {patches.grids()[i], std::move(output.embeddings), std::move(output.deepstack)});
  }
  for (const auto& [name, rows] : stages) trace(name, at::cat(rows));
  return items;
}

}  // namespace vtower::cli
