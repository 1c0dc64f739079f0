#include "cli/check.h"

namespace vtower::cli {

void CheckCommand::add_to(CLI::App& app) {
  parsed = &app;
  run.add_to(app);
  dp.add_to(app);
  media.add_to(app);
  judge.add_to(app);
  app.add_option("--modes", modes,
                 "modes to run: eager, graph, graph-plan, dp; each with @DEVICE and :DTYPE")
      ->delimiter(',')
      ->option_text("MODE[,MODE...] [eager and graph on a GPU, eager and graph-plan elsewhere]");
  app.add_option("--against", against, "a dump made earlier, to be judged with the runs")
      ->option_text("DUMP");
  app.add_option("--keep", keep, "keep the dumps of all runs there")
      ->option_text("DIR")
      ->group("Output");
}

}  // namespace vtower::cli
