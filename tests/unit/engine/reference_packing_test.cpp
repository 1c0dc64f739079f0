// The control against executed cases of the reference.
#include "engine/reference_packing.h"

#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;

namespace {

std::optional<std::int64_t> given(const nlohmann::json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<std::int64_t>();
}

ReferenceBudgetRequest request_of(const nlohmann::json& entry) {
  ReferenceBudgetRequest request;
  request.smallest = entry["range"][0];
  request.largest = entry["range"][1];
  request.user_budgets = entry["user_budgets"].get<std::vector<std::int64_t>>();
  if (entry["user_items"] != 0) request.user_items = given(entry["user_items"]);
  request.user_frames = given(entry["user_frames"]);
  request.videos_per_prompt = entry["video_limit"];
  request.frames_per_video = entry["max_frames_per_video"];
  return request;
}

}  // namespace

TEST_CASE("budgets and batches equal the reference's in every case") {
  const nlohmann::json reference = test::golden_json("vllm/packing.json");
  int packed = 0;
  int refused = 0;
  for (const nlohmann::json& entry : reference["cases"]) {
    CAPTURE(entry.dump());
    const nlohmann::json& out = entry["out"];
    if (out.contains("error")) {
      CHECK_THROWS_AS((void)reference_budgets(request_of(entry)), Error);
      ++refused;
      continue;
    }
    const ReferenceBudgets budgets = reference_budgets(request_of(entry));
    CHECK(budgets.tokens == out["budgets"].get<std::vector<std::int64_t>>());
    CHECK(budgets.max_items == out["max_items"]);
    CHECK(budgets.max_frames == out["max_frames"]);
    if (entry["tokens"].is_null()) continue;
    ++packed;
    const auto tokens = entry["tokens"].get<std::vector<std::int64_t>>();
    const std::vector<ReferenceBatch> batches = pack_as_reference(tokens, budgets);
    REQUIRE(batches.size() == out["batches"].size());
    for (std::size_t b = 0; b < batches.size(); ++b) {
      CHECK(batches[b].items == out["batches"][b]["items"].get<std::vector<std::size_t>>());
      CHECK(batches[b].tokens == out["batches"][b]["tokens"]);
      CHECK(batches[b].budget == given(out["batches"][b]["budget"]));
    }
  }
  CHECK(packed == 61);
  CHECK(refused == 4);
}
