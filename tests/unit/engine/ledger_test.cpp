// The ledger of every pass, and that each way of being wrong is refused.
#include <ATen/ops/full.h>

#include <limits>

#include "core/error.h"
#include "engine/graph_plan_runner.h"
#include "engine/ledger_record.h"
#include "support/doctest.h"
#include "support/towers.h"

using namespace vtower;

namespace {

struct Pass {
  Ledger ledger;
  at::Tensor range;
};

Pass pass_of(const VisionTower& tower) {
  const RawPatches patches = test::noise_patches(tower.config().layout, {{1, 4, 8}}, 1);
  const SeqPlan plan = make_seq_plan(tower.config(), patches.grids());
  const Ledger ledger = tower.encode(patches, plan).ledger;
  return {ledger, ledger.norm_range.clone()};
}

// The text of the refusal, or "accepted".
std::string verdict(const VisionTower& tower, const Pass& pass) {
  LedgerCheck check(tower);
  try {
    check.add(pass.ledger, pass.range);
  } catch (const Error& error) {
    CHECK((error.kind() == ErrorKind::device));
    return error.what();
  }
  return "accepted";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every family runs its declared stages once, in the tower's dtype, within the norm") {
  for (const std::string& family : test::families) {
    const VisionTower tower = test::tiny_tower(family);
    EagerRunner eager(tower);
    GraphPlanRunner padded(tower, BudgetLadder({64, 256, 1024}, 4), Poison::on);
    for (Runner* runner : std::initializer_list<Runner*>{&eager, &padded}) {
      for (const std::vector<GridThw>& grids : test::mixed_grids) {
        (void)runner->run(test::noise_patches(tower.config().layout, grids, 3), StageTrace());
      }
      const LedgerRecord record = runner->ledger();
      CHECK(record.passes == static_cast<std::int64_t>(test::mixed_grids.size()));
      CHECK(record.stages.size() == declared_stages(tower.config()).size());
      for (std::size_t c = 0; c < 3; ++c) {
        // Noise holds bytes 0 and 255, so the range is met exactly.
        CHECK(record.norm_observed[c].smallest == record.norm_allowed[c].smallest);
        CHECK(record.norm_observed[c].largest == record.norm_allowed[c].largest);
        CHECK(record.norm_allowed[c].smallest < 0);
        CHECK(record.norm_allowed[c].largest < 3);
      }
    }
  }
}

TEST_CASE("a pass with another list of stages is refused") {
  const VisionTower tower = test::tiny_tower(test::families[2]);
  const Pass sound = pass_of(tower);
  CHECK(verdict(tower, sound) == "accepted");

  Pass skipped = sound;
  skipped.ledger.entries.erase(skipped.ledger.entries.begin());
  CHECK(mentions(verdict(tower, skipped), "expected normalized, patch_embed ran"));
  Pass twice = sound;
  twice.ledger.entries.insert(twice.ledger.entries.begin(), twice.ledger.entries.front());
  CHECK(mentions(verdict(tower, twice), "expected patch_embed, normalized ran"));
  Pass cut = sound;
  cut.ledger.entries.pop_back();
  CHECK(mentions(verdict(tower, cut), "expected merger, nothing ran"));
  Pass more = sound;
  more.ledger.entries.push_back(more.ledger.entries.back());
  CHECK(mentions(verdict(tower, more), "expected nothing more, merger ran"));
  Pass other_type = sound;
  other_type.ledger.entries[1].dtype = at::kBFloat16;
  CHECK(mentions(verdict(tower, other_type), "patch_embed: expected fp32 on cpu"));
}

TEST_CASE("pixels that were not normalised, or twice, are refused") {
  const VisionTower tower = test::tiny_tower(test::families[0]);
  const Pass sound = pass_of(tower);
  const auto with_range = [&](float smallest, float largest) {
    Pass pass = sound;
    pass.range = at::full({2, 3}, smallest);
    pass.range.select(0, 1).fill_(largest);
    return verdict(tower, pass);
  };
  CHECK(with_range(-1.0F, 1.0F) == "accepted");
  CHECK(mentions(with_range(0.0F, 255.0F), "was the normalisation skipped"));
  const auto& table = tower.input_norm().table()[0];
  const float again = (table[0] - 255 * 0.48F) / (255 * 0.27F);  // the constants once more
  CHECK(mentions(with_range(again, again + 0.1F), "done twice"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(mentions(with_range(nan, nan), "channel 0"));
  CHECK(mentions(with_range(-1.0F, nan), "channel 0"));
}
