// The oracle against transformers 5.17.0 run in float64 (final tensors) and float32 (stages).
#include <optional>

#include "unit/oracle/oracle_case.h"

using namespace vtower;
using test::OracleCase;

namespace {

Checkpoint golden_checkpoint(const std::string& name) {
  return Checkpoint::open(test::golden("towers/checkpoints") / name);
}

bool is_float_stage(const std::string& name) {
  return name != "grid_thw" && name != "cu_seqlens_tokens" && name != "window_index";
}

}  // namespace

TEST_CASE("final embeddings and deepstack equal the float64 reference to 2e-6") {
  std::size_t compared = 0;
  std::size_t cases = 0;
  for (const OracleCase& c : test::oracle_cases()) {
    CAPTURE(c.name);
    CAPTURE(c.checkpoint);
    REQUIRE(c.files.contains("fp64"));
    ++cases;
    const Checkpoint checkpoint = golden_checkpoint(c.checkpoint);
    const oracle::Oracle oracle(checkpoint);
    const auto ours =
        test::run_oracle(oracle, test::case_input(c.family, c.name, checkpoint.vision().layout));
    const SafetensorsFile reference = test::case_file(c.family, c.files.at("fp64"));
    for (const auto& [stage, view] : reference.tensors()) {
      if (!is_float_stage(stage)) continue;
      CAPTURE(stage);
      REQUIRE(ours.contains(stage));
      CHECK(test::relative_error(ours.at(stage), test::to_tensor(view)) <= 2e-6);
      ++compared;
    }
  }
  CHECK(cases == 72);
  CHECK(compared > cases);
}

TEST_CASE("every stage equals the float32 reference to 1e-5, the normalised values in every bit") {
  std::map<std::string, std::size_t> compared;
  for (const OracleCase& c : test::oracle_cases()) {
    CAPTURE(c.name);
    CAPTURE(c.checkpoint);
    const SafetensorsFile reference = test::case_file(c.family, c.files.at("fp32"));
    if (reference.find("block_input") == nullptr) continue;
    const Checkpoint checkpoint = golden_checkpoint(c.checkpoint);
    const oracle::Oracle oracle(checkpoint);
    const auto ours =
        test::run_oracle(oracle, test::case_input(c.family, c.name, checkpoint.vision().layout),
                         oracle::StageRequest::all());
    for (const auto& [stage, view] : reference.tensors()) {
      if (stage == "grid_thw" || stage == "cu_seqlens_tokens") continue;
      CAPTURE(stage);
      REQUIRE(ours.contains(stage));
      const at::Tensor theirs = test::to_tensor(view);
      if (stage == "normalized" || stage == "window_index") {
        CHECK(ours.at(stage).equal(theirs));
      } else {
        CHECK(test::relative_error(ours.at(stage), theirs) <= 1e-5);
      }
      ++compared[stage];
    }
  }
  for (const char* stage : {"normalized", "patch_embed", "block_input", "block.0", "block.3",
                            "merger", "deepstack.2", "window_index"}) {
    CAPTURE(stage);
    CHECK(compared[stage] >= 1);
  }
}

TEST_CASE("float32 above the size that the options give, and the result says so") {
  const Checkpoint checkpoint = golden_checkpoint("qwen3_vl-tiny-fp32");
  const RawPatches patches = test::case_input("qwen3_vl", "single", checkpoint.vision().layout);
  const auto exact = oracle::Oracle(checkpoint).encode_item(patches, 0);
  const auto narrow = oracle::Oracle(checkpoint, {95}).encode_item(patches, 0);
  CHECK(exact.computed_in == DType::f64);
  CHECK(narrow.computed_in == DType::f32);
  CHECK(oracle::Oracle(checkpoint, {96}).encode_item(patches, 0).computed_in == DType::f64);
  CHECK((narrow.embeddings.scalar_type() == at::kDouble));
  CHECK(test::relative_error(narrow.embeddings, exact.embeddings) <= 4e-6);
  CHECK_FALSE(narrow.embeddings.equal(exact.embeddings));
}
