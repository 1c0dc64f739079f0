#include "checkpoint/synth.h"
#include "cli/bench.h"

namespace vtower::cli {

void BenchCommand::add_to(CLI::App& app) {
  app.add_option("CHECKPOINT", checkpoint, "whose tower to time [random weights of --shape]");
  app.add_option("--shape", shape, "published shape, where no checkpoint is given [qwen2-vl-2b]")
      ->check(CLI::IsMember(synth_shape_names()))
      ->option_text("NAME");
  app.add_option("--blocks", blocks, "fewer blocks than the shape has; the ratios stay [all]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
  app.add_option("--axes", axes, "what to show [preprocess,packing,tower]")
      ->delimiter(',')
      ->check(CLI::IsMember({"preprocess", "packing", "tower"}))
      ->option_text("NAME[,NAME]");
  app.add_option("--inputs", inputs,
                 "pictures to preprocess, under CHECKPOINT's limits [a made JPEG]")
      ->delimiter(',')
      ->option_text("FILE[,FILE...]");
  app.add_option("--dtypes", dtypes, "of the tower [fp32,bf16]")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->option_text("NAME[,NAME...]");
  app.add_option("--sides", sides, "side of the picture in pixels [448,1036]")
      ->delimiter(',')
      ->check(CLI::Range(56, 8192))
      ->option_text("N[,N...]");
  app.add_option("--device", device, "of the tower [cpu]")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->option_text("cpu|cuda");
  app.add_option("--threads", threads, "compute threads of the tower [all cores]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
  app.add_option("--repeats", repeats, "timed calls of each side; the best counts [3]")
      ->check(CLI::Range(1, 1000))
      ->option_text("N");
}

}  // namespace vtower::cli
