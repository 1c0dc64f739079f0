#include "checkpoint/synth.h"
#include "cli/synth.h"

namespace vtower::cli {

void SynthCommand::add_to(CLI::App& app) {
  std::string names;
  for (const std::string& name : synth_shape_names()) names += (names.empty() ? "" : ", ") + name;
  app.add_option("FAMILY", shape, "shape: " + names)
      ->required()
      ->check(CLI::IsMember(synth_shape_names()))
      ->option_text("NAME REQUIRED");
  app.add_option("OUT", folder, "folder to make")->required();
  app.add_option("--dtype", dtype, "of the weights [bf16]")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->option_text("fp32|bf16|fp16");
  app.add_option("--seed", seed, "the same seed gives the same bytes everywhere [0]")
      ->option_text("N");
  app.add_option("--blocks", blocks, "fewer blocks than the shape has [all]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
}

}  // namespace vtower::cli
