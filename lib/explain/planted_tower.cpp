#include "explain/planted_tower.h"

#include <ATen/ops/cat.h>
#include <c10/core/InferenceMode.h>

#include <cassert>
#include <utility>

#include "engine/graph_runner.h"

namespace vtower::explain {
namespace {

Tensors tensors_of(TowerOutput output, std::int64_t tokens) {
  Tensors tensors{output.embeddings.narrow(0, 0, tokens).cpu()};
  for (const at::Tensor& level : output.deepstack) {
    tensors.push_back(level.narrow(0, 0, tokens).cpu());
  }
  return tensors;
}

std::int64_t tokens_of(const RawPatches& batch) {
  std::int64_t tokens = 0;
  for (const GridThw& grid : batch.grids()) tokens += grid.tokens(batch.layout().merge_size);
  return tokens;
}

}  // namespace

PlantedTower::PlantedTower(const Checkpoint& checkpoint, const Placement& placement)
    : checkpoint_(checkpoint),
      placement_(placement),
      sound_(VisionTower::load(checkpoint, placement)) {}

VisionTower PlantedTower::tower_with(const Fault& fault) const {
  const PlantingKey key;
  VisionTower tower = sound_;
  if (fault.config || fault.weights) {
    VisionConfig config = checkpoint_.vision();
    if (fault.config) fault.config(config);
    // The sound depth and shapes are not asked for: whatever the fault leaves over stays unused.
    WeightSource::Editor editor = fault.weights;
    if (!editor) editor = [](const std::string&, const at::Tensor& stored) { return stored; };
    tower = VisionTower::plant(key, checkpoint_, placement_, config, std::move(editor));
  }
  return fault.norm ? tower.with_norm(key, fault.norm(tower.input_norm().table())) : tower;
}

Tensors PlantedTower::run(const Fault& fault, const RawPatches& batch) const {
  const c10::InferenceMode inference;
  const VisionTower tower = tower_with(fault);
  const auto encode_rows = [&](const RawPatches& rows) {
    SeqPlan plan = make_seq_plan(tower.config(), rows.grids());
    if (fault.plan) fault.plan(plan);
    return tower.encode(rows, plan, fault.trace ? fault.trace(plan) : StageTrace());
  };
  return tensors_of(fault.pixels ? encode_rows(fault.pixels(batch)) : encode_rows(batch),
                    tokens_of(batch));
}

PlantedEmbeddings PlantedTower::encode(const RawPatches& batch) const {
  return PlantedEmbeddings(run(Fault{}, batch));
}

PlantedEmbeddings PlantedTower::encode(const Fault& fault, const RawPatches& batch,
                                       const PlantedEmbeddings& sound) const {
  const bool tower_runs =
      fault.norm || fault.pixels || fault.config || fault.weights || fault.plan || fault.trace;
  Tensors tensors = tower_runs ? run(fault, batch) : sound.tensors();
  return PlantedEmbeddings(fault.output ? fault.output(tensors) : std::move(tensors));
}

PlantedEmbeddings PlantedTower::encode_in_graph(const Fault& fault, const RawPatches& batch) const {
  assert(!fault.pixels && !fault.plan && !fault.trace && !fault.output);
  const VisionTower tower = tower_with(fault);
  const std::int64_t group = batch.layout().merge_size * batch.layout().merge_size;
  const std::int64_t budget = (batch.rows() + 2 * group - 1) / group * group;  // with padding
  GraphRecord record;
  const auto runner = make_graph_runner(tower, {BudgetLadder({budget}, group), Poison::on}, record);
  (void)runner->run(batch.slice(0, 1), StageTrace());
  Tensors tensors;
  for (const ItemEmbeddings& item : runner->run(batch, StageTrace())) {
    tensors.resize(1 + item.deepstack.size());
    const auto add = [](at::Tensor& all, const at::Tensor& rows) {
      all = all.defined() ? at::cat({all, rows.cpu()}) : rows.cpu();
    };
    add(tensors[0], item.embeddings);
    for (std::size_t j = 0; j < item.deepstack.size(); ++j) add(tensors[j + 1], item.deepstack[j]);
  }
  return PlantedEmbeddings(std::move(tensors));
}

}  // namespace vtower::explain
