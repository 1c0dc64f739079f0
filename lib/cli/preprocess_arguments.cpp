#include "cli/preprocess.h"

namespace vtower::cli {

void PreprocessCommand::add_to(CLI::App& app) {
  media.add_to(app);
  app.add_option("--checkpoint", checkpoint, "whose preprocessor files to follow")->required();
  app.add_option("-o,--output", output, "safetensors file to write")->required();
  app.add_option("--threads", threads, "decode threads [all cores]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
}

}  // namespace vtower::cli
