// The checkpoints of the reference data open and say what their makers put in.
#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;

TEST_CASE("every golden checkpoint opens with the family, dtype and prefix of the index") {
  const nlohmann::json checkpoints = test::golden_json("towers/index.json")["checkpoints"];
  REQUIRE(checkpoints.size() == 9);
  for (const auto& [name, facts] : checkpoints.items()) {
    CAPTURE(name);
    const Checkpoint checkpoint = Checkpoint::open(test::golden("towers/checkpoints") / name);
    CHECK(to_string(checkpoint.vision().family) == facts["family"].get<std::string>());
    CHECK(checkpoint.prefix() == facts["prefix"].get<std::string>());
    CHECK(to_string(checkpoint.weights().main_dtype()) == facts["dtype"].get<std::string>());
    CHECK(checkpoint.notes().empty());
  }
}
