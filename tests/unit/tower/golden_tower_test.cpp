// The towers against what transformers 5.17.0 computes (tests/golden/towers).
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/raw_patch_dump.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"
#include "tower/vision_tower.h"

using namespace vtower;

namespace {

struct Run {
  std::map<std::string, at::Tensor> stages;
  TowerOutput output;
};

Run run_case(const VisionTower& tower, const RawPatches& patches) {
  Run run;
  const StageTrace keep([&](const std::string& stage, const at::Tensor& value) {
    run.stages[stage] = value.clone();
  });
  run.output = tower.encode(patches, make_seq_plan(tower.config(), patches.grids()), keep);
  return run;
}

struct GoldenCase {
  std::string family;
  std::string name;
  std::string checkpoint;
  std::map<std::string, std::string> files;  // dtype -> file
  nlohmann::json errors;                     // of HF's own runs against fp64
};

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  const nlohmann::json index = test::golden_json("towers/index.json");
  for (const auto& [key, entry] : index.at("cases").items()) {
    const std::size_t slash = key.find('/');
    for (const auto& [checkpoint, data] : entry.at("checkpoints").items()) {
      cases.push_back({key.substr(0, slash), key.substr(slash + 1), checkpoint,
                       data.at("files").get<std::map<std::string, std::string>>(),
                       data.at("error_against_fp64")});
    }
  }
  return cases;
}

class Checkpoints {
 public:
  const VisionTower& tower(const std::string& name, DType dtype) {
    const auto key = std::pair(name, dtype);
    auto found = towers_.find(key);
    if (found == towers_.end()) {
      const Checkpoint checkpoint = Checkpoint::open(test::golden("towers/checkpoints") / name);
      found = towers_.emplace(key, VisionTower::load(checkpoint, {dtype, c10::kCPU})).first;
    }
    return found->second;
  }

 private:
  std::map<std::pair<std::string, DType>, VisionTower> towers_;
};

RawPatches input_of(const GoldenCase& c, const VisionTower& tower) {
  return read_raw_patch_dump(
      test::golden("towers/cases/" + c.family + "/" + c.name + ".input.safetensors"),
      tower.config().layout);
}

SafetensorsFile reference_of(const GoldenCase& c, const std::string& dtype) {
  return {test::golden("towers/cases/" + c.family + "/" + c.files.at(dtype)),
          ErrorKind::unreadable};
}

}  // namespace

TEST_CASE("fp32 embeddings and stages equal the reference") {
  Checkpoints checkpoints;
  int compared_stages = 0;
  int compared_cases = 0;
  for (const GoldenCase& c : golden_cases()) {
    CAPTURE(c.family + "/" + c.name + " " + c.checkpoint);
    const VisionTower& tower = checkpoints.tower(c.checkpoint, DType::f32);
    const Run run = run_case(tower, input_of(c, tower));
    const SafetensorsFile truth = reference_of(c, "fp64");
    CHECK(test::relative_error(run.output.embeddings, test::load_tensor(truth, "merger")) <= 4e-6);
    for (std::size_t j = 0; j < run.output.deepstack.size(); ++j) {
      const std::string name = "deepstack." + std::to_string(j);
      CHECK(test::relative_error(run.output.deepstack[j], test::load_tensor(truth, name)) <= 4e-6);
    }
    CHECK(truth.find("deepstack." + std::to_string(run.output.deepstack.size())) == nullptr);
    const SafetensorsFile stages = reference_of(c, "fp32");
    for (const auto& [name, view] : stages.tensors()) {
      if (view.dtype != DType::f32) continue;
      CAPTURE(name);
      REQUIRE(run.stages.contains(name));
      CHECK(test::relative_error(run.stages.at(name), test::to_tensor(view)) <= 1e-5);
      ++compared_stages;
    }
    ++compared_cases;
  }
  CHECK(compared_cases >= 60);
  CHECK(compared_stages >= 100);
}

TEST_CASE("bf16 is as close to fp64 as the reference's own bf16") {
  Checkpoints checkpoints;
  std::map<std::string, std::pair<double, double>> pooled;  // family -> sums of squares: ours, HF
  for (const GoldenCase& c : golden_cases()) {
    if (!c.files.contains("bf16")) continue;
    CAPTURE(c.family + "/" + c.name + " " + c.checkpoint);
    const VisionTower& tower = checkpoints.tower(c.checkpoint, DType::bf16);
    const Run run = run_case(tower, input_of(c, tower));
    const double ours = test::relative_error(run.output.embeddings,
                                             test::load_tensor(reference_of(c, "fp64"), "merger"));
    const double theirs = c.errors.at("bf16").at("merger").at("rel_fro").get<double>();
    CHECK(ours <= 1.3 * theirs);
    pooled[c.family].first += ours * ours;
    pooled[c.family].second += theirs * theirs;
  }
  CHECK(pooled.size() == 3);
  for (const auto& [family, sums] : pooled) {
    CAPTURE(family);
    const double ratio = std::sqrt(sums.first / sums.second);
    MESSAGE(family << ": bf16 error against fp64 is " << ratio << " x HF's");
    CHECK(ratio <= 1.1);
  }
}

TEST_CASE("fp16 stays close to fp64") {
  Checkpoints checkpoints;
  for (const GoldenCase& c : golden_cases()) {
    if (c.name != "batch") continue;
    CAPTURE(c.family + " " + c.checkpoint);
    const VisionTower& tower = checkpoints.tower(c.checkpoint, DType::f16);
    const Run run = run_case(tower, input_of(c, tower));
    CHECK(test::relative_error(run.output.embeddings,
                               test::load_tensor(reference_of(c, "fp64"), "merger")) <= 2e-3);
  }
}

TEST_CASE("R65: what shares a batch does not matter") {
  Checkpoints checkpoints;
  for (const GoldenCase& c : golden_cases()) {
    if (c.name != "batch" && c.name != "mixed") continue;
    CAPTURE(c.family + "/" + c.name + " " + c.checkpoint);
    const VisionTower& tower = checkpoints.tower(c.checkpoint, DType::f32);
    const RawPatches together = input_of(c, tower);
    const at::Tensor all =
        tower.encode(together, make_seq_plan(tower.config(), together.grids())).embeddings;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < together.grids().size(); ++i) {
      const RawPatches alone = together.slice(i, 1);
      const at::Tensor one =
          tower.encode(alone, make_seq_plan(tower.config(), alone.grids())).embeddings;
      CHECK(test::relative_error(all.narrow(0, first, one.size(0)), one) <= 4e-6);
      first += one.size(0);
    }
    CHECK(first == all.size(0));
  }
}

TEST_CASE("the tower refuses a plan or rows made for something else") {
  Checkpoints checkpoints;
  const VisionTower& tower = checkpoints.tower("qwen2_vl-tiny-fp32", DType::f32);
  const RawPatches patches = read_raw_patch_dump(
      test::golden("towers/cases/qwen2_vl/single.input.safetensors"), tower.config().layout);
  const std::vector<GridThw> other{{1, 12, 8}};
  CHECK_THROWS_AS((void)tower.encode(patches, make_seq_plan(tower.config(), other)), Error);
  const VisionTower& qwen3 = checkpoints.tower("qwen3_vl-tiny-fp32", DType::f32);
  CHECK_THROWS_AS((void)qwen3.encode(patches, make_seq_plan(qwen3.config(), patches.grids())),
                  Error);
}
