#include "cli/mode_run.h"

#include <algorithm>

#include "cli/default_ladder.h"
#include "cli/oracle_runner.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

// Enough rows to fill the matrix products of a CPU, little memory.
constexpr std::int64_t cpu_batch_rows = 4096;

BudgetLadder ladder_of(const RunArguments& arguments, const PatchLayout& layout) {
  const std::int64_t group = layout.merge_size * layout.merge_size;
  if (!arguments.budgets.empty()) return BudgetLadder(arguments.budgets, group);
  return default_ladder(layout);
}

Json padding_json(const PaddingRecord& padding) {
  Json hits = Json::object();
  for (const auto& [budget, batches] : padding.hits) hits[std::to_string(budget)] = batches;
  return {{"item_rows", padding.item_rows},
          {"padded_rows", padding.padded_rows},
          {"useful_share", padding.useful_share()},
          {"budgets_hit", std::move(hits)}};
}

// An item above the largest budget goes to the eager runner: asked for by --oversize=eager, and
// counted.
class OversizeRunner final : public Runner {
 public:
  OversizeRunner(const VisionTower& tower, std::unique_ptr<Runner> padded, std::int64_t largest)
      : eager_(tower), padded_(std::move(padded)), largest_(largest) {}

  std::vector<ItemEmbeddings> run(const RawPatches& patches, const StageTrace& trace) override {
    if (patches.rows() <= largest_) return padded_->run(patches, trace);
    ++oversize_;
    return eager_.run(patches, trace);
  }
  StageSearch find_non_finite(const RawPatches& patches) override {
    return patches.rows() <= largest_ ? padded_->find_non_finite(patches)
                                      : eager_.find_non_finite(patches);
  }
  LedgerRecord ledger() const override { return joined(padded_->ledger(), eager_.ledger()); }
  void prepare(std::span<const std::vector<GridThw>> batches) override {
    padded_->prepare(batches);
  }
  [[nodiscard]] std::int64_t oversize() const noexcept { return oversize_; }

 private:
  EagerRunner eager_;
  std::unique_ptr<Runner> padded_;
  std::int64_t largest_;
  std::int64_t oversize_ = 0;
};

}  // namespace

ModeRun::ModeRun(const RunArguments& arguments, const Checkpoint& checkpoint, int threads)
    : arguments_(arguments),
      placement_(arguments.placement(checkpoint)),
      threads_(threads),
      max_batch_rows_(placement_.device.is_cpu() ? cpu_batch_rows : default_pack_rows()) {
  if (arguments.mode == Mode::oracle) {
    placement_ = Placement{DType::f64};
    runner_ = std::make_unique<OracleRunner>(checkpoint);
    return;
  }
  if (arguments.capture_all && arguments.mode != Mode::graph) {
    throw Error(ErrorKind::usage, "graph", "--capture-all: only --mode graph captures");
  }
  const bool padded = arguments.mode == Mode::graph || arguments.mode == Mode::graph_plan;
  if (arguments.mode == Mode::graph && !placement_.device.is_cuda()) {
    throw Error(ErrorKind::mode_unavailable, "graph",
                "--mode graph runs on a GPU, this is " + placement_.device.str() +
                    "; --mode graph-plan runs the same padded plan without capture, on any device");
  }
  const Poison poison = arguments.poison ? Poison::on : Poison::off;
  tower_.emplace(VisionTower::load(checkpoint, placement_));
  if (padded) {
    ladder_.emplace(ladder_of(arguments, tower_->config().layout));
    max_batch_rows_ = std::min(max_batch_rows_, ladder_->largest());
  }
  switch (arguments.mode) {
    case Mode::graph:
      runner_ = make_graph_runner(*tower_, {*ladder_, poison, 64, arguments.graph_memory_mib << 20},
                                  graphs_);
      break;
    case Mode::graph_plan: {
      auto runner = std::make_unique<GraphPlanRunner>(*tower_, *ladder_, poison);
      graph_plan_ = runner.get();
      runner_ = std::move(runner);
      break;
    }
    default: runner_ = std::make_unique<EagerRunner>(*tower_);
  }
  if (padded && arguments.oversize == Oversize::eager) {
    runner_ = std::make_unique<OversizeRunner>(*tower_, std::move(runner_), ladder_->largest());
  }
}

Json ModeRun::attestation() const {
  Json json = attestation_json(to_string(arguments_.mode), placement_, threads_);
  if (graph_plan_ != nullptr) json["padding"] = padding_json(graph_plan_->padding());
  if (arguments_.mode == Mode::graph) {
    json["captured"] = graphs_.replays > 0;
    json["padding"] = padding_json(graphs_.padding);
    json["graphs"] = {{"captures", graphs_.captures},
                      {"replays", graphs_.replays},
                      {"nodes", graphs_.nodes},
                      {"dropped", graphs_.dropped},
                      {"restarts", graphs_.restarts},
                      {"capture_seconds", graphs_.capture_seconds},
                      {"slowest_capture_seconds", graphs_.slowest_capture_seconds},
                      {"fill_seconds", graphs_.fill_seconds},
                      {"launch_seconds", graphs_.launch_seconds},
                      {"pool_bytes", graphs_.pool_bytes},
                      {"buffer_bytes", graphs_.buffer_bytes},
                      {"static_pixel_bytes", graphs_.static_pixel_bytes}};
  }
  if (ladder_) {
    json["poison"] = arguments_.poison;
    if (const auto* oversize = dynamic_cast<const OversizeRunner*>(runner_.get())) {
      json["oversize_eager"] = oversize->oversize();
    }
  }
  return json;
}

}  // namespace vtower::cli
