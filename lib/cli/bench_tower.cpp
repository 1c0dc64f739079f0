#include "cli/bench_tower.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include <array>

#include "cli/bench_timing.h"
#include "tower/linear_work.h"

namespace vtower::cli {
namespace {

// A product of one of the tower's shapes, as plain as LibTorch has it.
struct Product {
  at::Tensor x, weight, bias;
  double work;

  Product(std::int64_t rows, std::int64_t in, std::int64_t out, const Placement& placement)
      : x(at::randn({rows, in}).to(placement.scalar_type())),
        weight(at::randn({out, in}).to(placement.scalar_type())),
        bias(at::randn({out}).to(placement.scalar_type())),
        work(2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out)) {
  }
  void operator()() const { (void)at::linear(x, weight, bias); }
};

}  // namespace

RawPatches noise_picture(const VisionConfig& config, std::int64_t side) {
  const std::int64_t patches =
      side / config.layout.factor() * config.layout.factor() / config.layout.patch_size;
  const GridThw grid{1, patches, patches};
  ByteBuffer rows(static_cast<std::size_t>(grid.patches() * config.layout.row_width()));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    rows.data()[i] = static_cast<std::uint8_t>(state >> 24);
  }
  return RawPatches::from_rows(std::move(rows), {grid}, config.layout);
}

TowerWork tower_work(const VisionConfig& config, const SeqPlan& plan) {
  const auto d = static_cast<double>(config.width);
  TowerWork work;
  work.linear = static_cast<double>(plan.rows) * linear_work_per_row(config);
  const auto attended = [&](const std::vector<std::int32_t>& cu_seqlens) {
    double pairs = 0;
    for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
      const double length = cu_seqlens[i] - cu_seqlens[i - 1];
      pairs += length * length;
    }
    return 4 * pairs * d;
  };
  for (std::int64_t block = 0; block < config.depth; ++block) {
    const bool windowed = config.family == Family::qwen2_5_vl && !config.is_full_attention(block);
    work.attention += attended(windowed ? plan.window_cu_seqlens : plan.frame_cu_seqlens);
  }
  return work;
}

Json bench_tower(const VisionTower& tower, std::int64_t side, int repeats) {
  const c10::InferenceMode inference;
  const VisionConfig& config = tower.config();
  const RawPatches patches = noise_picture(config, side);
  const SeqPlan plan = make_seq_plan(config, patches.grids());
  const TowerWork work = tower_work(config, plan);
  const std::array products{Product(plan.rows, config.width, 3 * config.width, tower.placement()),
                            Product(plan.rows, config.width, config.width, tower.placement()),
                            Product(plan.rows, config.width, config.mlp_width, tower.placement()),
                            Product(plan.rows, config.mlp_width, config.width, tower.placement())};
  std::array<double, products.size()> product_seconds;
  product_seconds.fill(1e30);
  const Pair pair = time_in_turns(
      repeats, [&] { (void)tower.encode(patches, plan); },
      [&] {
        for (std::size_t i = 0; i < products.size(); ++i) {
          product_seconds[i] = std::min(product_seconds[i], seconds_of(products[i]));
        }
      });
  double best_rate = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    best_rate = std::max(best_rate, products[i].work / product_seconds[i]);
  }
  const double tower_seconds = pair.ours;
  const double rate = (work.linear + work.attention) / tower_seconds;
  return {{"axis", "tower"},
          {"dtype", to_string(tower.placement().dtype)},
          {"side_px", side},
          {"patches", plan.rows},
          {"blocks", config.depth},
          {"seconds", tower_seconds},
          {"gflops", rate / 1e9},
          {"ceiling", "best plain product of the tower's shapes"},
          {"ceiling_gflops", best_rate / 1e9},
          {"ratio", rate / best_rate},
          {"attention_share", work.attention / (work.linear + work.attention)}};
}

}  // namespace vtower::cli
