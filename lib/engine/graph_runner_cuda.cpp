#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "core/error.h"
#include "engine/graph_runner.h"
#include "engine/split_output.h"

namespace vtower {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// A graph with the buffers that it reads and writes.
struct Captured {
  Captured(const VisionTower& tower, const CaptureKey& key)
      : inputs(tower.config(), key.capacity, key.longest_frame, tower.placement()) {}

  StagedInputs inputs;
  at::cuda::CUDAGraph graph{/*keep_graph=*/true};
  TowerOutput output;  // static: overwritten by each replay
};

class GraphRunner final : public Runner {
 public:
  GraphRunner(const VisionTower& tower, GraphOptions options, GraphRecord& record)
      : tower_(tower),
        options_(std::move(options)),
        record_(record),
        stream_(c10::cuda::getStreamFromPool(false, tower.placement().device.index())),
        pool_(at::cuda::graph_pool_handle()),
        ledger_(tower),
        norm_range_(at::empty({2, 3}, at::TensorOptions().pinned_memory(true))) {}

  std::vector<ItemEmbeddings> run(const RawPatches& patches, const StageTrace& trace) override {
    if (trace.active()) {
      throw Error(ErrorKind::usage, "graph",
                  "stages cannot be seen inside a graph; take --mode graph-plan or eager");
    }
    const c10::InferenceMode inference;
    const c10::cuda::CUDAStreamGuard on_stream(stream_);
    const VisionConfig& config = tower_.config();
    SeqPlan plan = make_seq_plan(config, patches.grids());
    const CaptureKey key = capture_key(config, plan, options_.ladder);
    record_.padding.add(plan.rows, key.capacity.rows);
    plan = pad_seq_plan(config, std::move(plan), key.capacity);

    Captured& captured = captured_for(key, patches, plan);
    if (options_.poison == Poison::on) poison(captured);
    const auto start = Clock::now();
    captured.inputs.fill(patches, std::move(plan));
    const auto filled = Clock::now();
    launch(captured);
    record_.fill_seconds += seconds(filled - start);
    record_.launch_seconds += seconds(Clock::now() - filled);
    ++record_.replays;
    std::vector<ItemEmbeddings> items =
        split_output(captured.output, patches.grids(), config.layout.merge_size, Ownership::copy);
    norm_range_.copy_(captured.output.ledger.norm_range, /*non_blocking=*/true);
    stream_.synchronize();
    ledger_.add(captured.output.ledger, norm_range_);
    return items;
  }

  // The same padded pass over buffers of the same sizes, uncaptured: there stages can be seen.
  StageSearch find_non_finite(const RawPatches& patches) override {
    const c10::InferenceMode inference;
    const c10::cuda::CUDAStreamGuard on_stream(stream_);
    GraphPlanRunner uncaptured(tower_, options_.ladder, options_.poison);
    return {uncaptured.find_non_finite(patches).first, "alone, uncaptured"};
  }

  void prepare(std::span<const std::vector<GridThw>> batches) override {
    const c10::InferenceMode inference;
    const c10::cuda::CUDAStreamGuard on_stream(stream_);
    const VisionConfig& config = tower_.config();
    for (const std::vector<GridThw>& grids : batches) {
      SeqPlan plan = make_seq_plan(config, grids);
      if (plan.rows > options_.ladder.largest())
        continue;  // refused, or run eagerly, when it comes
      const CaptureKey key = capture_key(config, plan, options_.ladder);
      ByteBuffer blank(static_cast<std::size_t>(plan.rows * config.layout.row_width()));
      std::memset(blank.data(), 0, blank.size());
      const RawPatches patches = RawPatches::from_rows(std::move(blank), grids, config.layout);
      (void)captured_for(key, patches, pad_seq_plan(config, std::move(plan), key.capacity));
    }
    stream_.synchronize();
  }

  LedgerRecord ledger() const override { return ledger_.record(); }

 private:
  struct Entry {
    std::unique_ptr<Captured> graph;
    std::list<CaptureKey>::iterator place;  // in recent_
  };

  // The graph of a key, captured over these rows if it is not there yet.
  Captured& captured_for(const CaptureKey& key, const RawPatches& patches, const SeqPlan& plan) {
    const auto known = graphs_.find(key);
    if (known != graphs_.end()) {
      recent_.splice(recent_.begin(), recent_, known->second.place);
      return *known->second.graph;
    }
    while (static_cast<std::int64_t>(graphs_.size()) >= options_.most_graphs) drop_oldest();
    Captured* captured = &insert_captured(key, patches, plan);
    if (taken_bytes() > options_.most_bytes && graphs_.size() > 1) {
      start_over();
      captured = &insert_captured(key, patches, plan);
    }
    if (taken_bytes() > options_.most_bytes) {
      throw Error(ErrorKind::memory, "graph",
                  "one graph of " + std::to_string(key.capacity.rows) + " patches takes " +
                      std::to_string(taken_bytes() >> 20) + " MiB, --graph-memory allows " +
                      std::to_string(options_.most_bytes >> 20));
    }
    return *captured;
  }

  Captured& insert_captured(const CaptureKey& key, const RawPatches& patches, const SeqPlan& plan) {
    recent_.push_front(key);
    Captured& captured =
        *graphs_.emplace(key, Entry{std::make_unique<Captured>(tower_, key), recent_.begin()})
             .first->second.graph;
    record_.buffer_bytes += captured.inputs.bytes();
    captured.inputs.fill(patches, plan);
    capture(captured, key);
    return captured;
  }

  void drop_oldest() {
    const auto oldest = graphs_.find(recent_.back());
    record_.buffer_bytes -= oldest->second.graph->inputs.bytes();
    graphs_.erase(oldest);
    recent_.pop_back();
    ++record_.dropped;
  }

  // Gives all of the pool back.
  void start_over() {
    stream_.synchronize();
    while (!graphs_.empty()) drop_oldest();
    c10::cuda::CUDACachingAllocator::emptyCache();
    pool_ = at::cuda::graph_pool_handle();
    ++record_.restarts;
  }

  std::int64_t taken_bytes() {
    record_.pool_bytes = 0;
    for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot(pool_).segments) {
      record_.pool_bytes += static_cast<std::int64_t>(segment.total_size);
    }
    return record_.pool_bytes + record_.buffer_bytes;
  }

  void capture(Captured& captured, const CaptureKey& key) {
    const auto start = Clock::now();
    try {
      // Workspaces and lazily loaded kernels come into being before the capture, as they are
      // launched: the GPU runs them while the host captures.
      captured.output = tower_.encode(captured.inputs);
      captured.output = {};
      captured.graph.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
      captured.output = tower_.encode(captured.inputs);
      captured.graph.capture_end();
      captured.graph.instantiate();
      C10_CUDA_CHECK(cudaGraphUpload(captured.graph.raw_cuda_graph_exec(), stream_.stream()));
      stream_.synchronize();
    } catch (const c10::Error& error) {
      record_.buffer_bytes -= captured.inputs.bytes();
      graphs_.erase(key);
      recent_.pop_front();
      throw Error(ErrorKind::mode_unavailable, "graph",
                  "a budget of " + std::to_string(key.capacity.rows) +
                      " patches could not be captured: " + error.what_without_backtrace());
    }
    std::size_t nodes = 0;
    C10_CUDA_CHECK(cudaGraphGetNodes(captured.graph.raw_cuda_graph(), nullptr, &nodes));
    ++record_.captures;
    record_.nodes += static_cast<std::int64_t>(nodes);
    record_.static_pixel_bytes =
        static_cast<std::int64_t>(c10::elementSize(captured.inputs.pixel_type()));
    const double spent = seconds(Clock::now() - start);
    record_.capture_seconds += spent;
    record_.slowest_capture_seconds = std::max(record_.slowest_capture_seconds, spent);
  }

  // Not CUDAGraph::replay(): it fills the seeds of random numbers first, and we have none.
  void launch(Captured& captured) {
    C10_CUDA_CHECK(cudaGraphLaunch(captured.graph.raw_cuda_graph_exec(), stream_.stream()));
  }

  // What no fill and no kernel writes must not reach an item: padding rows get tagged bytes,
  // outputs NaN, and the pool's free blocks the bytes of NaN.
  void poison(Captured& captured) {
    captured.inputs.poison_pixels();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (captured.output.embeddings.defined()) captured.output.embeddings.fill_(nan);
    for (at::Tensor& level : captured.output.deepstack) level.fill_(nan);
    const auto snapshot = c10::cuda::CUDACachingAllocator::snapshot(pool_);
    for (const auto& segment : snapshot.segments) {
      auto address = static_cast<std::uintptr_t>(segment.address);
      for (const auto& block : segment.blocks) {
        if (!block.allocated && !block.active) {
          C10_CUDA_CHECK(cudaMemsetAsync(reinterpret_cast<void*>(address), 0xFF, block.size,
                                         stream_.stream()));
        }
        address += block.size;
      }
    }
  }

  const VisionTower& tower_;
  GraphOptions options_;
  GraphRecord& record_;
  c10::cuda::CUDAStream stream_;
  c10::MempoolId_t pool_;
  LedgerCheck ledger_;
  at::Tensor norm_range_;  // float32 [2, 3], pinned
  std::map<CaptureKey, Entry> graphs_;
  std::list<CaptureKey> recent_;  // most recently replayed first
};

}  // namespace

std::unique_ptr<Runner> make_graph_runner(const VisionTower& tower, GraphOptions options,
                                          GraphRecord& record) {
  if (!tower.placement().device.is_cuda()) {
    throw Error(ErrorKind::mode_unavailable, "graph",
                "--mode graph needs --device cuda; --mode graph-plan runs the same padded plan "
                "without capture, on any device");
  }
  return std::make_unique<GraphRunner>(tower, std::move(options), record);
}

}  // namespace vtower
