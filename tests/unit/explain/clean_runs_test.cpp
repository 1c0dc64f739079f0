// Clean runs must pass: seeds, sizes, packings, types, threads, modes, both orders of arguments.
// VTOWER_CLEAN_RUNS says how many (scripts/false-alarms); a sample otherwise.
#include <ATen/Parallel.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check/diff_items.h"
#include "engine/graph_plan_runner.h"
#include "explain/distance.h"
#include "explain/judge.h"
#include "support/towers.h"

using namespace vtower;
using namespace vtower::explain;

namespace {

int runs_asked() {
  const char* text = std::getenv("VTOWER_CLEAN_RUNS");
  return text != nullptr ? std::atoi(text) : 60;
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  template <typename Value>
  const Value& of(const std::vector<Value>& values) {
    return values[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937 engine_;
};

// Noise, a flat grey, a dark ramp: what pictures may be at their worst.
RawPatches pixels(Dice& dice, const PatchLayout& layout, const GridThw& grid) {
  const std::int64_t kind = dice.between(0, 3);
  if (kind == 0) {
    return test::noise_patches(layout, {grid},
                               static_cast<std::uint32_t>(dice.between(1, 1 << 30)));
  }
  ByteBuffer bytes(static_cast<std::size_t>(grid.patches() * layout.row_width()));
  const std::int64_t base = dice.between(0, 255);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t value = kind == 1 ? base : kind == 2 ? place / 97 % 40 : base + place / 613;
    bytes.data()[i] = static_cast<std::uint8_t>(value);
  }
  return RawPatches::from_rows(std::move(bytes), {grid}, layout);
}

std::vector<DumpItem> as_items(const std::vector<ItemEmbeddings>& run) {
  std::vector<DumpItem> items;
  for (const ItemEmbeddings& item : run) {
    DumpItem& added = items.emplace_back();
    added.key = "#" + std::to_string(items.size() - 1);
    added.embeddings = rows_of(item.embeddings);
    for (const at::Tensor& level : item.deepstack) added.deepstack.push_back(rows_of(level));
  }
  return items;
}

}  // namespace

TEST_CASE("clean runs raise no alarm") {
  const int runs = runs_asked();
  const int threads = at::get_num_threads();
  int alarms = 0;
  double most_used = 0;
  const std::vector<DType> types{DType::f32, DType::bf16, DType::f16};
  int done = 0;
  for (int round = 0; done < runs; ++round) {
    // One tower and yardstick for some runs each.
    Dice dice(static_cast<std::uint32_t>(7919 * round + 17));
    const std::string& family = test::families[static_cast<std::size_t>(round) % 3];
    const DType dtype = types[static_cast<std::size_t>(round / 3) % 3];
    const std::string stored = dice.between(0, 1) == 0 ? "fp32" : "bf16";
    const Checkpoint checkpoint =
        Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-" + stored));
    const VisionTower tower = VisionTower::load(checkpoint, {dtype});
    const Yardstick yardstick(checkpoint, {{dtype}});
    for (int i = 0; i < 10 && done < runs; ++i, ++done) {
      at::set_num_threads(static_cast<int>(dice.between(1, 2)));
      std::vector<RawPatches> items;
      std::vector<const RawPatches*> parts;
      for (std::int64_t count = dice.between(1, 4); count > 0; --count) {
        const GridThw grid{dice.of<std::int64_t>({1, 1, 1, 2, 3}), 2 * dice.between(1, 9),
                           2 * dice.between(1, 9)};
        items.push_back(pixels(dice, checkpoint.vision().layout, grid));
      }
      for (const RawPatches& item : items) parts.push_back(&item);
      const RawPatches batch = RawPatches::concat(parts);

      EagerRunner eager(tower);
      GraphPlanRunner padded(tower, BudgetLadder({batch.rows() + 4 * dice.between(0, 150)}, 4),
                             dice.between(0, 1) == 0 ? Poison::off : Poison::on);
      (void)padded.run(items.back(), StageTrace());
      const auto a = eager.run(batch, StageTrace());
      const auto b = padded.run(batch, StageTrace());
      const std::vector<DumpItem> left = as_items(a);
      const std::vector<DumpItem> right = as_items(b);

      const auto rows = [](const std::vector<DumpItem>& run, std::size_t item) {
        ItemRows all{run[item].embeddings};
        all.insert(all.end(), run[item].deepstack.begin(), run[item].deepstack.end());
        return all;
      };
      JudgedItems judged;
      for (std::size_t k = 0; k < items.size(); ++k) judged.names.push_back(std::to_string(k));
      judged.load = [&](std::size_t k) { return items[k].slice(0, 1); };
      const std::vector<PairReport> reports =
          judge(yardstick, judged,
                {{"eager", 0, [&](std::size_t k) { return rows(left, k); }},
                 {"padded", 0, [&](std::size_t k) { return rows(right, k); }}},
                {Policy::standard(), 1, {}});
      bool agree = true;
      for (const PairReport& report : reports) {
        agree = agree && report.verdict == Verdict::agree;
        for (const ItemReport& item : report.items) most_used = std::max(most_used, item.used());
      }
      // Without a truth, either way round.
      const DiffSide one{"a", left, nullptr, "embeddings", false, {}};
      const DiffSide other{"b", right, nullptr, "embeddings", false, {}};
      for (const auto& comparison : {diff_items(one, other, {}), diff_items(other, one, {})}) {
        agree = agree && to_report(comparison, "a", "b").verdict == Verdict::agree;
      }
      if (!agree) {
        ++alarms;
        MESSAGE("alarm in run " << done << ": " << family << " " << std::string(to_string(dtype)));
      }
    }
  }
  at::set_num_threads(threads);
  MESSAGE(done << " clean runs, " << alarms << " alarms; the most used share of a limit was "
               << most_used);
  CHECK(alarms == 0);
}
