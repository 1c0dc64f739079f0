#include "cli/selftest.h"

namespace vtower::cli {

void SelftestCommand::add_to(CLI::App& app) {
  run.add_to(app);
  media.add_to(app);
  app.add_option("--policy", policy, "tolerance policy to test [configs/default.json]")
      ->option_text("FILE");
  app.add_option("--max-rows", most_rows,
                 "patches to plant faults into: the first items that fit [4096]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
}

}  // namespace vtower::cli
