#include "cli/synth.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/synth.h"

namespace vtower::cli {

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
