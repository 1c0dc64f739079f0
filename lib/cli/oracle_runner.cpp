#include "cli/oracle_runner.h"

#include <ATen/ops/cat.h>

#include <map>

namespace vtower::cli {

std::vector<ItemEmbeddings> OracleRunner::run(const RawPatches& patches, const StageTrace& trace) {
  const auto request = trace.active() ? oracle::StageRequest::of({stages_.begin(), stages_.end()})
                                      : oracle::StageRequest::none();
  std::vector<ItemEmbeddings> items;
  std::map<std::string, std::vector<at::Tensor>> stages;
  for (std::size_t i = 0; i < patches.grids().size(); ++i) {
    oracle::OracleOutput output = oracle_.encode_item(patches, i, request);
    for (auto& [name, rows] : output.stages) stages[name].push_back(std::move(rows));
    items.push_back(
        {patches.grids()[i], std::move(output.embeddings), std::move(output.deepstack)});
  }
  if (trace.active()) {
    for (const std::string& name : stages_) trace(name, at::cat(stages.at(name)));
  }
  return items;
}

StageSearch OracleRunner::find_non_finite(const RawPatches& patches) {
  NonFiniteWatch watch(patches);
  (void)run(patches, watch.trace());
  return {watch.first(), "alone"};
}

}  // namespace vtower::cli
