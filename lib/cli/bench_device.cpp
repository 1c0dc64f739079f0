#include "cli/bench_device.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "cli/bench_timing.h"
#include "cli/bench_tower.h"
#include "cli/default_ladder.h"
#include "cli/kernel_times.h"
#include "engine/graph_runner.h"

namespace vtower::cli {
namespace {

void wait_for(c10::Device device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeStream(guard.getStream(device));
}

// Seconds of one call of many, without the host's share.
template <typename Call>
double seconds_of_many(c10::Device device, int calls, Call&& call) {
  call();
  wait_for(device);
  const double spent = seconds_of([&] {
    for (int i = 0; i < calls; ++i) call();
    wait_for(device);
  });
  return spent / calls;
}

Json device_row(const char* mode, const VisionTower& tower, std::int64_t side, const SeqPlan& plan,
                double seconds, const DeviceCeiling& ceiling) {
  const TowerWork arithmetic = tower_work(tower.config(), plan);
  const double rate = (arithmetic.linear + arithmetic.attention) / seconds / 1e12;
  return {{"axis", "tower"},
          {"mode", mode},
          {"dtype", to_string(tower.placement().dtype)},
          {"side_px", side},
          {"patches", plan.rows},
          {"blocks", tower.config().depth},
          {"seconds", seconds},
          {"tflops", rate},
          {"ceiling", "product of 8192 x 8192 x 8192 in the same run"},
          {"ceiling_tflops", ceiling.product_tflops},
          {"ratio", rate / ceiling.product_tflops}};
}

void run_and_wait(Runner& runner, const RawPatches& patches, c10::Device device) {
  (void)runner.run(patches, StageTrace());
  wait_for(device);
}

}  // namespace

DeviceCeiling device_ceiling(const Placement& placement) {
  const c10::InferenceMode inference;
  constexpr std::int64_t n = 8192;
  constexpr std::int64_t bytes = std::int64_t{1} << 30;
  const auto options = at::TensorOptions().dtype(placement.scalar_type()).device(placement.device);
  const at::Tensor a = at::randn({n, n}, options);
  const at::Tensor b = at::randn({n, n}, options);
  DeviceCeiling ceiling;
  const double product = seconds_of_many(placement.device, 10, [&] { (void)at::mm(a, b); });
  ceiling.product_tflops = 2.0 * n * n * n / product / 1e12;
  const auto raw = at::TensorOptions().dtype(at::kByte);
  const at::Tensor from = at::empty({bytes}, raw.device(placement.device));
  at::Tensor to = at::empty({bytes}, raw.device(placement.device));
  const double copy = seconds_of_many(placement.device, 10, [&] { to.copy_(from); });
  ceiling.copy_gb_per_second = 2.0 * bytes / copy / 1e9;
  const at::Tensor host = at::empty({bytes / 4}, raw.pinned_memory(true));
  at::Tensor part = to.narrow(0, 0, bytes / 4);
  const double upload =
      seconds_of_many(placement.device, 4, [&] { part.copy_(host, /*non_blocking=*/true); });
  ceiling.upload_gb_per_second = bytes / 4.0 / upload / 1e9;
  return ceiling;
}

std::vector<Json> bench_device_tower(const VisionTower& tower, std::int64_t side, int repeats,
                                     const DeviceCeiling& ceiling) {
  const VisionConfig& config = tower.config();
  const c10::Device device = tower.placement().device;
  const RawPatches patches = noise_picture(config, side);
  const SeqPlan plan = make_seq_plan(config, patches.grids());
  EagerRunner eager(tower);
  GraphRecord record;
  const std::unique_ptr<Runner> graph =
      make_graph_runner(tower, {default_ladder(config.layout)}, record);
  const Pair pair = time_in_turns(
      5 * repeats, [&] { run_and_wait(*graph, patches, device); },
      [&] { run_and_wait(eager, patches, device); });
  Json graph_row = device_row("graph", tower, side, plan, pair.ours, ceiling);
  const auto replays = static_cast<double>(record.replays);
  graph_row.update({{"padded_rows", record.padding.padded_rows / record.replays},
                    {"useful_share", record.padding.useful_share()},
                    {"padding_seconds", pair.ours * (1 - record.padding.useful_share())},
                    {"host_fill_seconds", record.fill_seconds / replays},
                    {"host_launch_seconds", record.launch_seconds / replays},
                    {"capture_seconds", record.capture_seconds},
                    {"nodes", record.nodes},
                    {"pool_bytes", record.pool_bytes},
                    {"buffer_bytes", record.buffer_bytes}});
  return {device_row("eager", tower, side, plan, pair.ceiling, ceiling), std::move(graph_row)};
}

void add_device_work(const VisionTower& tower, Json& row) {
  const c10::Device device = tower.placement().device;
  const RawPatches patches = noise_picture(tower.config(), row["side_px"].get<std::int64_t>());
  GraphRecord record;
  const std::unique_ptr<Runner> runner =
      row["mode"] == "eager"
          ? std::make_unique<EagerRunner>(tower)
          : make_graph_runner(tower, {default_ladder(tower.config().layout)}, record);
  run_and_wait(*runner, patches, device);
  const DeviceWork work = trace_device([&] { run_and_wait(*runner, patches, device); });
  row["launches"] = work.launches;
  row["device_busy_seconds"] = work.busy_seconds;
  row["device_busy_share"] = work.busy_seconds / row["seconds"].get<double>();
}

}  // namespace vtower::cli
