#include "cli/encode.h"

namespace vtower::cli {

void EncodeCommand::add_to(CLI::App& app) {
  run.add_to(app);
  run.add_mode_to(app);
  dp.add_to(app);
  media.add_to(app);
  app.add_option("-o,--output", output, "safetensors file to write")->required();
  app.add_option("--stages", stages, "stages to write too, or all")
      ->delimiter(',')
      ->option_text("NAME[,NAME...]");
}

}  // namespace vtower::cli
