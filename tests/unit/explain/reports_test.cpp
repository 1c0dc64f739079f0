// Faults that people have reported of graphs, data parallel and numerics, planted by hand and not
// through the catalogue: the gate must catch each, and name those that it can know. R numbers are
// those of the collection of public reports that the design refers to.
#include <ATen/ops/cat.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/roll.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "explain/distance.h"
#include "explain/explain.h"
#include "explain/yardstick.h"
#include "support/towers.h"

using namespace vtower;
using namespace vtower::explain;

namespace {

using Spoil = std::function<Tensors(const Tensors&)>;

// Two pictures and a clip through one checkpoint.
class Bench {
 public:
  Bench(const std::string& family, DType dtype)
      : checkpoint_(Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-fp32"))),
        placement_{dtype},
        tower_(VisionTower::load(checkpoint_, placement_)) {
    const std::vector<GridThw> grids{{1, 8, 12}, {1, 10, 6}, {3, 4, 6}};
    batch_.emplace(test::noise_patches(checkpoint_.vision().layout, grids, 23));
    const Yardstick yardstick(checkpoint_, {placement_});
    for (std::size_t i = 0; i < grids.size(); ++i) items_.push_back(batch_->slice(i, 1));
    for (const RawPatches& item : items_) {
      measured_.push_back(yardstick.measure(item, items_.front(), 1));
    }
  }

  [[nodiscard]] const Checkpoint& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const VisionTower& tower() const { return tower_; }
  [[nodiscard]] const RawPatches& batch() const { return *batch_; }

  [[nodiscard]] Tensors run(const std::function<void(SeqPlan&)>& plan = {}) const {
    SeqPlan used = make_seq_plan(tower_.config(), batch_->grids());
    if (plan) plan(used);
    TowerOutput output = tower_.encode(*batch_, used);
    Tensors tensors{output.embeddings};
    tensors.insert(tensors.end(), output.deepstack.begin(), output.deepstack.end());
    return tensors;
  }

  // Whether some token is beyond its limit, and what the fault is called.
  struct Found {
    bool caught = false;
    std::vector<std::string> names;
  };
  [[nodiscard]] Found judge(const Tensors& tensors) const {
    Found found;
    Evidence evidence;
    std::vector<Tensors> kept;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const std::int64_t count = measured_[i].truth.front().size(0);
      kept.push_back(tokens_of(tensors, first, count));
      first += count;
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      ItemRows rows;
      bool fails = false;
      for (std::size_t t = 0; t < kept[i].size(); ++t) {
        rows.push_back(rows_of(kept[i][t]));
        const double worst = distance({rows.back()}, {measured_[i].truth[t]}, 1).worst;
        fails = fails || !(worst <= 3 * measured_[i].floor[0][t]);
      }
      if (fails) evidence.failing.push_back(i);
      evidence.items.push_back(&items_[i]);
      evidence.rows.push_back(std::move(rows));
    }
    found.caught = !evidence.failing.empty();
    if (!found.caught) return found;
    const Explanation explanation = Explainer(checkpoint_, placement_, {}).explain(evidence);
    for (const Candidate& fit : explanation.fits) found.names.push_back(fit.id);
    return found;
  }

 private:
  Checkpoint checkpoint_;
  Placement placement_;
  VisionTower tower_;
  std::optional<RawPatches> batch_;
  std::vector<RawPatches> items_;
  std::vector<ItemYardstick> measured_;
};

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Tensors each(const Tensors& tensors, const std::function<at::Tensor(at::Tensor)>& change) {
  Tensors changed;
  for (const at::Tensor& tensor : tensors) changed.push_back(change(tensor.clone()).contiguous());
  return changed;
}

}  // namespace

TEST_CASE("reports: a sound run passes") {
  for (const std::string& family : test::families) {
    const Bench bench(family, DType::f32);
    CHECK_FALSE(bench.judge(bench.run()).caught);
  }
}

TEST_CASE("reports R73, R74: rows of an earlier replay, zeros and NaN in the last rows") {
  const Bench bench("qwen2_5_vl", DType::bf16);
  const Tensors sound = bench.run();
  const auto spoiled = [&](auto fill) {
    return bench.judge(each(sound, [&](at::Tensor tokens) {
      fill(tokens.narrow(0, tokens.size(0) - 9, 9));  // the last half of the clip
      return tokens;
    }));
  };
  CHECK(
      spoiled([](at::Tensor rows) { rows.fill_(std::numeric_limits<float>::quiet_NaN()); }).caught);
  CHECK(spoiled([](at::Tensor rows) { rows.zero_(); }).caught);
  CHECK(spoiled([&](at::Tensor rows) { rows.copy_(sound.front().narrow(0, 0, 9)); }).caught);
  // one unwritten token is enough
  CHECK(bench
            .judge(each(sound,
                        [](at::Tensor tokens) {
                          tokens[-1].copy_(tokens[0]);
                          return tokens;
                        }))
            .caught);
}

TEST_CASE("reports R75: a longer sequence than the capture's leaves its end unwritten") {
  const Bench bench("qwen2_vl", DType::f32);
  const auto found = bench.judge(each(bench.run(), [](at::Tensor tokens) {
    // 24, 15 and 18 tokens: the last quarter of each was beyond the captured length
    tokens.narrow(0, 18, 6).zero_();
    tokens.narrow(0, 24 + 12, 3).zero_();
    tokens.narrow(0, 24 + 15 + 14, 4).zero_();
    return tokens;
  }));
  CHECK(found.caught);
  CHECK(holds(found.names, "rows_stale"));
}

TEST_CASE("reports R65, R76: boundaries of the whole clip, or of the whole batch") {
  for (const std::string& family : test::families) {
    const Bench bench(family, DType::f32);
    const auto clip = bench.judge(bench.run([](SeqPlan& plan) {
      plan.frame_cu_seqlens = {0, 96, 156, 228};
    }));
    CHECK(holds(clip.names, "segments_merged"));
    const auto all = bench.judge(bench.run([](SeqPlan& plan) {
      plan.frame_cu_seqlens = {0, static_cast<std::int32_t>(plan.rows)};
    }));
    CHECK(holds(all.names, "segments_merged"));
  }
}

TEST_CASE("reports R79, R80, R86: results in another order, or cut at the wrong place") {
  const Bench bench("qwen3_vl", DType::f32);
  const Tensors sound = bench.run();
  const auto swapped = bench.judge(each(sound, [](at::Tensor tokens) {
    return at::cat({tokens.narrow(0, 24, 15), tokens.narrow(0, 0, 24), tokens.narrow(0, 39, 18)});
  }));
  CHECK(holds(swapped.names, "items_swapped"));
  const auto shifted =
      bench.judge(each(sound, [](at::Tensor tokens) { return at::roll(tokens, 1, 0); }));
  CHECK(holds(shifted.names, "rows_shifted"));
  // an idle rank's place filled with noise
  const auto noise = bench.judge(each(sound, [](at::Tensor tokens) {
    tokens.narrow(0, 39, 18).copy_(at::rand_like(tokens.narrow(0, 39, 18)));
    return tokens;
  }));
  CHECK(noise.caught);
  CHECK(noise.names.empty());  // nothing is named that was not found
}

TEST_CASE("reports R85: a result that was not contiguous") {
  const Bench bench("qwen2_vl", DType::bf16);
  const auto found = bench.judge(each(bench.run(), [](at::Tensor tokens) {
    std::vector<at::Tensor> parts;
    std::int64_t first = 0;
    for (const std::int64_t count : {24, 15, 18}) {
      const at::Tensor item = tokens.narrow(0, first, count);
      parts.push_back(item.t().contiguous().view_as(item));
      first += count;
    }
    return at::cat(parts);
  }));
  CHECK(holds(found.names, "layout_transposed"));
}

TEST_CASE("reports R84, R95: a side that rounds its outputs once more") {
  const Bench bench("qwen2_5_vl", DType::f32);
  const auto found = bench.judge(
      each(bench.run(), [](at::Tensor tokens) { return tokens.to(at::kBFloat16).to(at::kFloat); }));
  CHECK(found.caught);
  CHECK_FALSE(holds(found.names, "norm_skipped"));
}

TEST_CASE("reports R87, R88: one value that is no number") {
  const Bench bench("qwen2_vl", DType::f16);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto found = bench.judge(each(bench.run(), [&](at::Tensor tokens) {
      tokens[5][3] = value;
      return tokens;
    }));
    CHECK(found.caught);
    CHECK(found.names.empty());
  }
}

TEST_CASE("reports R89, R90: what shares the batch and how it is padded changes rounding alone") {
  for (const std::string& family : test::families) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const Bench bench(family, dtype);
      Tensors alone;
      for (std::size_t i = 0; i < bench.batch().grids().size(); ++i) {
        const RawPatches item = bench.batch().slice(i, 1);
        const TowerOutput output =
            bench.tower().encode(item, make_seq_plan(bench.tower().config(), item.grids()));
        alone.resize(1 + output.deepstack.size());
        const auto add = [](at::Tensor& all, const at::Tensor& rows) {
          all = all.defined() ? at::cat({all, rows}) : rows;
        };
        add(alone[0], output.embeddings);
        for (std::size_t j = 0; j < output.deepstack.size(); ++j) {
          add(alone[j + 1], output.deepstack[j]);
        }
      }
      CHECK_FALSE(bench.judge(alone).caught);
    }
  }
}

TEST_CASE("reports R96: one token of many, and one channel of many") {
  const Bench bench("qwen2_5_vl", DType::bf16);
  CHECK(bench
            .judge(each(bench.run(),
                        [](at::Tensor tokens) {
                          tokens[7].mul_(1.2);
                          return tokens;
                        }))
            .caught);
  CHECK(bench
            .judge(each(bench.run(),
                        [](at::Tensor tokens) {
                          tokens.select(1, 3).add_(2.0);
                          return tokens;
                        }))
            .caught);
}

TEST_CASE("reports R100: three faults at once are caught, and none of them is named wrongly") {
  const Bench bench("qwen3_vl", DType::f32);
  const auto found = bench.judge(bench.run([](SeqPlan& plan) {
    for (std::size_t i = 0; i + 1 < plan.rope_positions.size(); i += 2) {
      std::swap(plan.rope_positions[i], plan.rope_positions[i + 1]);
    }
    plan.frame_cu_seqlens = {0, static_cast<std::int32_t>(plan.rows)};
    std::fill(plan.position_weights.begin(), plan.position_weights.end(), 0.25F);
  }));
  CHECK(found.caught);
  CHECK(found.names.empty());
}
