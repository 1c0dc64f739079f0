#include "cli/synth.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/synth.h"

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

ExitCode SynthCommand::operator()(const Terminal& terminal) const {
  SynthOptions options;
  options.shape = shape;
  options.seed = seed;
  options.dtype = dtype == "fp32" ? DType::f32 : dtype == "bf16" ? DType::bf16 : DType::f16;
  if (blocks > 0) options.blocks = blocks;
  write_synthetic_checkpoint(options, folder);
  const WeightSource weights = Checkpoint::open(folder).weights();
  terminal.say(folder + ": " + shape + ", " + std::to_string(weights.tensor_count()) +
               " vision tensors in " + dtype + ", seed " + std::to_string(seed));
  terminal.report({{"output", folder},
                   {"shape", shape},
                   {"seed", seed},
                   {"dtype", dtype},
                   {"tensors", weights.tensor_count()},
                   {"exit_code", 0}});
  return ExitCode::ok;
}

}  // namespace vtower::cli
