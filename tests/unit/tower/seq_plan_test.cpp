#include "tower/seq_plan.h"

#include <numeric>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;

namespace {

VisionConfig config_of(const std::string& checkpoint) {
  return Checkpoint::open(test::golden("towers/checkpoints") / checkpoint).vision();
}

SeqPlan plan_for(const VisionConfig& config, std::vector<GridThw> grids) {
  return make_seq_plan(config, grids);
}

using Offsets = std::vector<std::int32_t>;
using Order = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("frames are sequences of their own") {
  const VisionConfig config = config_of("qwen2_vl-tiny-fp32");
  const SeqPlan plan = plan_for(config, {{2, 4, 6}, {1, 2, 2}});
  CHECK(plan.frame_cu_seqlens == Offsets{0, 24, 48, 52});
  CHECK(plan.rows == 52);
  CHECK(plan.tokens == 13);
  CHECK(plan.window_order.empty());
  CHECK(plan.position_taps.empty());
  // (y, x) in merge order, the same for every frame.
  const Offsets first(plan.rope_positions.begin(), plan.rope_positions.begin() + 16);
  CHECK(first == Offsets{0, 0, 0, 1, 1, 0, 1, 1, 0, 2, 0, 3, 1, 2, 1, 3});
  CHECK(Offsets(plan.rope_positions.begin(), plan.rope_positions.begin() + 48) ==
        Offsets(plan.rope_positions.begin() + 48, plan.rope_positions.begin() + 96));
}

TEST_CASE("windows: published examples") {
  const VisionConfig config = config_of("qwen2_5_vl-tiny-fp32");
  CHECK(plan_for(config, {{1, 6, 10}}).window_order ==
        Order{0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 4, 9, 14});
  CHECK(plan_for(config, {{1, 6, 10}}).window_inverse ==
        Order{0, 1, 2, 3, 12, 4, 5, 6, 7, 13, 8, 9, 10, 11, 14});
  CHECK(plan_for(config, {{1, 6, 10}}).window_cu_seqlens == Offsets{0, 48, 60});
  CHECK(plan_for(config, {{1, 8, 12}}).window_cu_seqlens == Offsets{0, 64, 96});
  CHECK(plan_for(config, {{1, 16, 16}}).window_cu_seqlens == Offsets{0, 64, 128, 192, 256});
  CHECK(plan_for(config, {{2, 4, 4}}).window_cu_seqlens == Offsets{0, 16, 32});
  CHECK(plan_for(config, {{2, 4, 4}}).window_order == Order{0, 1, 2, 3, 4, 5, 6, 7});
  const SeqPlan ragged = plan_for(config, {{1, 34, 46}});
  CHECK(ragged.window_cu_seqlens.size() == 31);
}

TEST_CASE("windows: offsets go on over items, and every order is a permutation") {
  const VisionConfig config = config_of("qwen2_5_vl-tiny-fp32");
  const SeqPlan plan = plan_for(config, {{2, 6, 10}, {1, 18, 2}, {3, 2, 30}});
  CHECK(plan.window_cu_seqlens.back() == plan.rows);
  std::vector<bool> seen(plan.window_order.size());
  for (std::size_t place = 0; place < plan.window_order.size(); ++place) {
    const auto token = static_cast<std::size_t>(plan.window_order[place]);
    CHECK_FALSE(seen[token]);
    seen[token] = true;
    CHECK(plan.window_inverse[token] == static_cast<std::int64_t>(place));
  }
  // The rope rows move with their tokens: place 12 of the first item holds token 4, at (0, 8).
  CHECK(plan.rope_positions[12 * 8] == 0);
  CHECK(plan.rope_positions[12 * 8 + 1] == 8);
}

TEST_CASE("position taps stay in the table and weigh one") {
  const VisionConfig config = config_of("qwen3_vl-tiny-fp32");
  const SeqPlan plan = plan_for(config, {{1, 2, 48}, {2, 62, 38}});
  const auto rows = static_cast<std::size_t>(plan.rows);
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t corner = 0; corner < 4; ++corner) {
      REQUIRE(plan.position_taps[corner * rows + row] >= 0);
      REQUIRE(plan.position_taps[corner * rows + row] < 48 * 48);
      sum += plan.position_weights[corner * rows + row];
    }
    REQUIRE(sum == doctest::Approx(1.0));
  }
  // 48 columns over a side of 48: the taps are the columns themselves.
  CHECK(plan.position_taps[5] == 3);
  CHECK(plan.position_weights[5] == 1.0F);
}

TEST_CASE("R112: offsets that would not fit are refused before anything is built") {
  const VisionConfig config = config_of("qwen2_vl-tiny-fp32");
  const auto refusal = [&](const std::vector<GridThw>& grids) {
    try {
      return std::to_string(make_seq_plan(config, grids).rows);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::too_large);
      return std::string("refused");
    }
  };
  CHECK(refusal(std::vector<GridThw>(3, GridThw{768, 1024, 1024})) == "refused");
  // The widest tensor is that of the raw rows here: 1176 values each.
  const std::int64_t most = most_rows(config);
  CHECK(most == 2147483647 / 1176);
  CHECK(refusal({{1, 2, most / 4 * 2}}) == std::to_string(most / 4 * 4));
  CHECK(refusal({{1, 2, most / 4 * 2 + 2}}) == "refused");
}
