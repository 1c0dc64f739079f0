#include "cli/run_arguments.h"

#include <ATen/Parallel.h>

#include <map>
#include <thread>

#include "core/error.h"

namespace vtower::cli {
namespace {

const std::map<std::string, Mode> modes{{"eager", Mode::eager}, {"oracle", Mode::oracle}};

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  return mode == Mode::oracle ? "oracle" : "eager";
}

int thread_count(int asked) {
  return asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void RunArguments::add_to(CLI::App& app) {
  app.add_option("CHECKPOINT", checkpoint, "Hugging Face folder or hub cache snapshot")->required();
  app.add_option("--mode", mode, "how the tower runs")
      ->transform(CLI::CheckedTransformer(modes))
      ->option_text("eager|oracle [eager]")
      ->group("Run");
  app.add_option("--device", device, "auto takes a GPU where built and present")
      ->check(CLI::IsMember({"auto", "cpu"}) | CLI::Validator(
                                                   [](const std::string& text) {
                                                     return text.starts_with("cuda")
                                                                ? std::string()
                                                                : "expected cuda or cuda:i";
                                                   },
                                                   ""))
      ->option_text("auto|cpu|cuda|cuda:i [auto]")
      ->group("Run");
  app.add_option("--dtype", dtype, "auto takes the checkpoint's")
      ->check(CLI::IsMember({"auto", "fp32", "bf16", "fp16"}))
      ->option_text("auto|fp32|bf16|fp16 [auto]")
      ->group("Run");
  app.add_option("--threads", threads, "compute and decode threads [all cores]")
      ->check(CLI::PositiveNumber)
      ->option_text("N")
      ->group("Run");
}

Placement RunArguments::placement(const Checkpoint& opened) const {
  Placement placement;
  if (device.starts_with("cuda")) {
    throw Error(ErrorKind::mode_unavailable, "device",
                "--device " + device + ": this build has no CUDA parts; use --device cpu");
  }
  if (dtype == "auto") {
    placement.dtype = opened.weights().main_dtype();
  } else {
    placement.dtype = dtype == "fp32" ? DType::f32 : dtype == "bf16" ? DType::bf16 : DType::f16;
  }
  return placement;
}

int RunArguments::apply_threads() const {
  const int count = thread_count(threads);
  at::set_num_threads(count);
  return count;
}

}  // namespace vtower::cli
