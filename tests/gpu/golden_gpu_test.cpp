// The towers on a GPU against what transformers 5.17.0 computes on a CPU.
#include <cmath>
#include <map>
#include <string>

#include "core/raw_patch_dump.h"
#include "support/doctest.h"
#include "support/towers.h"

using namespace vtower;

namespace {

struct Errors {
  double ours = 0;    // sums of squares over the cases of a family
  double theirs = 0;  // of HF's own run in the dtype
  int cases = 0;
};

std::map<std::string, Errors> errors_against_fp64(DType dtype) {
  std::map<std::string, Errors> pooled;
  std::map<std::string, VisionTower> towers;
  const std::string dtype_name(to_string(dtype));
  const nlohmann::json index = test::golden_json("towers/index.json");
  for (const auto& [key, entry] : index.at("cases").items()) {
    const std::string family = key.substr(0, key.find('/'));
    for (const auto& [checkpoint, data] : entry.at("checkpoints").items()) {
      if (!data.at("files").contains(dtype_name)) continue;
      auto found = towers.find(checkpoint);
      if (found == towers.end()) {
        found = towers.emplace(checkpoint, test::load_tower(checkpoint, {dtype, c10::kCUDA})).first;
      }
      const VisionTower& tower = found->second;
      const RawPatches patches = read_raw_patch_dump(
          test::golden("towers/cases/" + key + ".input.safetensors"), tower.config().layout);
      EagerRunner runner(tower);
      const TowerOutput output =
          tower.encode(patches, make_seq_plan(tower.config(), patches.grids()));
      const SafetensorsFile truth(test::golden("towers/cases/" + family + "/" +
                                               data.at("files").at("fp64").get<std::string>()),
                                  ErrorKind::unreadable);
      const double ours =
          test::relative_error(output.embeddings.cpu(), test::load_tensor(truth, "merger"));
      const double theirs =
          data.at("error_against_fp64").at(dtype_name).at("merger").at("rel_fro").get<double>();
      CAPTURE(key + " " + checkpoint);
      if (dtype == DType::f32) CHECK(ours <= 4e-6);
      if (dtype == DType::bf16) CHECK(ours <= 1.3 * theirs);
      Errors& sums = pooled[family];
      sums.ours += ours * ours;
      sums.theirs += theirs * theirs;
      ++sums.cases;
    }
  }
  return pooled;
}

}  // namespace

TEST_CASE("gpu: fp32 embeddings equal the reference") {
  const std::map<std::string, Errors> pooled = errors_against_fp64(DType::f32);
  CHECK(pooled.size() == 3);
  for (const auto& [family, sums] : pooled) {
    CHECK(sums.cases >= 20);
    MESSAGE(family << ": fp32, " << sums.cases << " cases, error pooled "
                   << std::sqrt(sums.ours / sums.cases));
  }
}

TEST_CASE("gpu: bf16 is as close to fp64 as the reference's own bf16") {
  const std::map<std::string, Errors> pooled = errors_against_fp64(DType::bf16);
  CHECK(pooled.size() == 3);
  for (const auto& [family, sums] : pooled) {
    const double ratio = std::sqrt(sums.ours / sums.theirs);
    MESSAGE(family << ": bf16 error against fp64 is " << ratio << " x HF's");
    CHECK(ratio <= 1.1);
  }
}
