// Faults of what a block passes on: a block left out, a residual lost.
#include <memory>
#include <utility>

#include "explain/fault.h"

namespace vtower::explain {
namespace {

// Watches the rows that all blocks add to (one tensor, changed in place) on their way.
using OnStage = std::function<void(const std::string& stage, at::Tensor& rows, at::Tensor value)>;

Fault hooked(const std::string& id, const std::string& variant, const std::string& sentence,
             OnStage on_stage) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.trace = [on_stage = std::move(on_stage)](const SeqPlan&) {
    const auto rows = std::make_shared<at::Tensor>();
    return StageTrace([=](const std::string& stage, const at::Tensor& value) {
      if (stage == "block_input") *rows = value;
      on_stage(stage, *rows, value);
    });
  };
  return fault;
}

std::string block(std::int64_t i) {
  return "block." + std::to_string(i);
}

Fault block_skipped(std::int64_t i, std::int64_t depth) {
  const bool last = i + 1 == depth;
  const bool first = i == 0;
  const std::string before = first ? std::string("block_input") : block(i - 1);
  const auto kept = std::make_shared<at::Tensor>();
  return hooked(last ? "last_block_skipped" : "block_skipped", last ? "" : std::to_string(i),
                last ? std::string("the last block was left out") : block(i) + " was left out",
                [=, name = block(i)](const std::string& stage, at::Tensor& rows, at::Tensor value) {
                  if (stage == before) *kept = rows.clone();
                  if (stage == name) value.copy_(*kept);
                });
}

}  // namespace

std::vector<Fault> flow_faults(const Setting& setting) {
  const std::int64_t depth = setting.config.depth;
  std::vector<Fault> faults;
  faults.push_back(block_skipped(depth - 1, depth));
  const auto residual = [&](const std::string& variant, const std::string& words,
                            std::function<bool(const std::string&)> at_stage) {
    return hooked("residual_dropped", variant, "the residual is not added " + words,
                  [at_stage = std::move(at_stage)](const std::string& stage, at::Tensor& rows,
                                                   const at::Tensor&) {
                    if (at_stage(stage)) rows.zero_();
                  });
  };
  faults.push_back(residual("attn", "after the attention of any block",
                            [](const std::string& stage) { return stage.ends_with(".attn"); }));
  faults.push_back(residual("mlp", "after the MLP of any block",
                            [](const std::string& stage) { return stage.ends_with(".mlp"); }));
  for (std::int64_t i = 0; i < depth; ++i) {
    for (const std::string branch : {"attn", "mlp"}) {
      const std::string at = block(i) + "." + branch;
      Fault lost = residual(std::to_string(i) + "-" + branch, "at " + at,
                            [at](const std::string& stage) { return stage == at; });
      lost.rank = Fault::Rank::per_block;
      faults.push_back(std::move(lost));
      Fault silent =
          hooked("branch_dropped", std::to_string(i) + "-" + branch, at + " is not added",
                 [at](const std::string& stage, at::Tensor&, at::Tensor value) {
                   if (stage == at) value.zero_();
                 });
      silent.rank = Fault::Rank::per_block;
      faults.push_back(std::move(silent));
    }
    if (i + 1 == depth) continue;
    Fault skipped = block_skipped(i, depth);
    skipped.rank = Fault::Rank::per_block;
    faults.push_back(std::move(skipped));
  }
  return faults;
}

}  // namespace vtower::explain
