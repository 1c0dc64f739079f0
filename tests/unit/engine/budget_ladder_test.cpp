#include "engine/budget_ladder.h"

#include "core/error.h"
#include "support/doctest.h"

using namespace vtower;

TEST_CASE("the smallest budget that holds the rows") {
  const BudgetLadder ladder({256, 64, 64, 1024}, 4);
  CHECK(ladder.rows() == std::vector<std::int64_t>{64, 256, 1024});
  CHECK(ladder.smallest_for(1) == 64);
  CHECK(ladder.smallest_for(64) == 64);
  CHECK(ladder.smallest_for(65) == 256);
  CHECK(ladder.smallest_for(1024) == 1024);
  CHECK_FALSE(ladder.smallest_for(1025));
}

TEST_CASE("R78: budgets that make no sense are refused by name") {
  for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{}, {0}, {-4}, {64, 66}}) {
    try {
      const BudgetLadder ladder(rows, 4);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
    }
  }
}

TEST_CASE("a geometric ladder wastes less than its step") {
  const BudgetLadder ladder = BudgetLadder::geometric(64, 16384, 1.1, 4);
  CHECK(ladder.rows().front() == 64);
  CHECK(ladder.largest() == 16384);
  for (std::int64_t rows = 64; rows <= 16384; rows += 4) {
    CHECK(static_cast<double>(*ladder.smallest_for(rows)) <= 1.1 * static_cast<double>(rows));
  }
}
