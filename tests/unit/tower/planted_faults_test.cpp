// Each fault of order, window, rope or sequence, planted into the plan or the configuration, must
// show: it moves at least one reference case far beyond the limit that the sound tower keeps.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/raw_patch_dump.h"
#include "support/checkpoint_copy.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"
#include "tower/vision_tower.h"

using namespace vtower;

namespace {

constexpr double limit = 4e-6;

using Fault = std::function<void(SeqPlan&)>;

// The largest error against fp64 over some cases of a family when `fault` spoils the plan.
double error_under(const VisionTower& tower, const std::string& family,
                   const std::vector<std::string>& cases, const Fault& fault) {
  double worst = 0;
  for (const std::string& name : cases) {
    const std::string stem = "towers/cases/" + family + "/" + name;
    const RawPatches patches =
        read_raw_patch_dump(test::golden(stem + ".input.safetensors"), tower.config().layout);
    SeqPlan plan = make_seq_plan(tower.config(), patches.grids());
    fault(plan);
    const SafetensorsFile truth(test::golden(stem + "." + family + "-tiny-fp32.fp64.safetensors"),
                                ErrorKind::unreadable);
    const TowerOutput output = tower.encode(patches, plan);
    worst = std::max(worst,
                     test::relative_error(output.embeddings, test::load_tensor(truth, "merger")));
    for (std::size_t j = 0; j < output.deepstack.size(); ++j) {
      const std::string level = "deepstack." + std::to_string(j);
      worst = std::max(worst,
                       test::relative_error(output.deepstack[j], test::load_tensor(truth, level)));
    }
  }
  return worst;
}

VisionTower tiny(const std::string& family) {
  return VisionTower::load(
      Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-fp32")), Placement{});
}

void check_shows(const std::string& family, const std::vector<std::string>& cases,
                 const Fault& fault) {
  const VisionTower tower = tiny(family);
  CHECK(error_under(tower, family, cases, [](SeqPlan&) {}) <= limit);
  CHECK(error_under(tower, family, cases, fault) > 100 * limit);
}

const std::vector<std::string> families{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"};

}  // namespace

TEST_CASE("planted: frames of a clip attend to each other") {
  for (const std::string& family : families) {
    check_shows(family, {"video"}, [](SeqPlan& plan) {
      plan.frame_cu_seqlens = {0, static_cast<std::int32_t>(plan.rows)};
      if (!plan.window_cu_seqlens.empty()) plan.window_cu_seqlens = plan.frame_cu_seqlens;
    });
  }
}

TEST_CASE("planted: items of a batch attend to each other") {
  for (const std::string& family : families) {
    check_shows(family, {"batch"}, [](SeqPlan& plan) {
      plan.frame_cu_seqlens = {0, static_cast<std::int32_t>(plan.rows)};
    });
  }
}

TEST_CASE("planted: sequences of another plan") {
  for (const std::string& family : families) {
    check_shows(family, {"batch"}, [](SeqPlan& plan) {
      std::reverse(plan.frame_cu_seqlens.begin(), plan.frame_cu_seqlens.end());
      const std::int32_t rows = plan.frame_cu_seqlens.front();
      for (std::int32_t& offset : plan.frame_cu_seqlens) offset = rows - offset;
    });
  }
}

TEST_CASE("planted: rope takes x for y") {
  for (const std::string& family : families) {
    check_shows(family, {"single"}, [](SeqPlan& plan) {
      for (std::size_t i = 0; i < plan.rope_positions.size(); i += 2) {
        std::swap(plan.rope_positions[i], plan.rope_positions[i + 1]);
      }
    });
  }
}

TEST_CASE("planted: rope rows in raster order") {
  for (const std::string& family : families) {
    check_shows(family, {"single"}, [](SeqPlan& plan) {
      const auto width = static_cast<std::int32_t>(plan.grids.front().w);
      for (std::size_t row = 0; row < plan.rope_positions.size() / 2; ++row) {
        plan.rope_positions[2 * row] = static_cast<std::int32_t>(row) / width;
        plan.rope_positions[2 * row + 1] = static_cast<std::int32_t>(row) % width;
      }
    });
  }
}

TEST_CASE("planted: windows everywhere whole frames") {
  check_shows("qwen2_5_vl", {"large"},
              [](SeqPlan& plan) { plan.window_cu_seqlens = plan.frame_cu_seqlens; });
}

TEST_CASE("planted: whole frames everywhere windows") {
  check_shows("qwen2_5_vl", {"large"},
              [](SeqPlan& plan) { plan.frame_cu_seqlens = plan.window_cu_seqlens; });
}

TEST_CASE("planted: window order left out") {
  check_shows("qwen2_5_vl", {"large"}, [](SeqPlan& plan) {
    std::iota(plan.window_order.begin(), plan.window_order.end(), 0);
    plan.window_inverse = plan.window_order;
  });
}

TEST_CASE("planted: tokens not put back") {
  check_shows("qwen2_5_vl", {"large"}, [](SeqPlan& plan) {
    std::iota(plan.window_inverse.begin(), plan.window_inverse.end(), 0);
  });
}

TEST_CASE("planted: rope rows not moved with their tokens") {
  check_shows("qwen2_5_vl", {"large"}, [](SeqPlan& plan) {
    SeqPlan unmoved = plan;
    for (std::size_t place = 0; place < plan.window_order.size(); ++place) {
      const auto token = static_cast<std::size_t>(plan.window_order[place]);
      std::copy_n(unmoved.rope_positions.begin() + static_cast<std::ptrdiff_t>(8 * place), 8,
                  plan.rope_positions.begin() + static_cast<std::ptrdiff_t>(8 * token));
    }
  });
}

TEST_CASE("planted: position table taken by half pixels") {
  check_shows("qwen3_vl", {"single"}, [](SeqPlan& plan) {
    // The nearest corner alone: what a table that is indexed, not interpolated, gives.
    const auto rows = static_cast<std::size_t>(plan.rows);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t corner = 0; corner < 4; ++corner) {
        plan.position_weights[corner * rows + row] = corner == 0 ? 1.0F : 0.0F;
      }
    }
  });
}

TEST_CASE("planted: deepstack taken one block later") {
  const test::CheckpointCopy copy("qwen3_vl-tiny-fp32");
  copy.edit("config.json", [](nlohmann::json& config) {
    config["vision_config"]["deepstack_visual_indexes"] = {1, 2, 3};
  });
  const VisionTower tower = VisionTower::load(copy.open(), Placement{});
  CHECK(error_under(tower, "qwen3_vl", {"single"}, [](SeqPlan&) {}) > 100 * limit);
}
