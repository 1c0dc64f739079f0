#include "cli/diff.h"

namespace vtower::cli {

void DiffCommand::add_to(CLI::App& app) {
  app.add_option("A", a, ".safetensors, .npy, .npz, or a folder of an encoder-cache connector")
      ->required();
  app.add_option("B", b, "the other side; their order does not matter")->required();
  app.add_option("--map", map, "tensor to compare [embeddings, merger, pooler_output, ...]")
      ->option_text("NAME");
  app.add_option("--stage", stage, "what foreign tensors are [final embeddings]")
      ->option_text("NAME");
  CLI::Option* tower =
      app.add_option("--checkpoint", checkpoint, "the tower: both sides are judged by its oracle")
          ->option_text("DIR")
          ->group("Cause");
  app.add_option("--pixels", pixels,
                 "what went in: media, raw patches, pixel values of another tool, or a JSON map "
                 "from item to file")
      ->option_text("PATH")
      ->needs(tower)
      ->group("Cause");
  app.add_option("--device", device, "where the reference runs run [cpu]")
      ->option_text("auto|cpu|cuda|cuda:i")
      ->group("Cause");
  app.add_option("--threads", threads, "threads [all cores]")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
  judge.add_to(app);
}

}  // namespace vtower::cli
