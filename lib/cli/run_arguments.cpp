#include "cli/run_arguments.h"

#include <algorithm>
#include <thread>

#include "cli/choice.h"

namespace vtower::cli {
namespace {

const Choices<Mode> modes{{"eager", Mode::eager},
                          {"graph", Mode::graph},
                          {"graph-plan", Mode::graph_plan},
                          {"dp", Mode::dp},
                          {"oracle", Mode::oracle}};
const Choices<Oversize> oversizes{{"error", Oversize::error}, {"eager", Oversize::eager}};

// CLI11 takes a text as the refusal; an empty one accepts.
std::string known_device(const std::string& text) {
  return is_device_name(text) ? "" : text + ": expected auto, cpu, cuda or cuda:i";
}

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::eager: return "eager";
    case Mode::graph: return "graph";
    case Mode::graph_plan: return "graph-plan";
    case Mode::dp: return "dp";
    case Mode::oracle: return "oracle";
  }
  return "unknown";
}

bool is_device_name(const std::string& text) {
  const bool numbered = text.starts_with("cuda:") && text.size() > 5 &&
                        text.find_first_not_of("0123456789", 5) == std::string::npos;
  return text == "auto" || text == "cpu" || text == "cuda" || numbered;
}

int thread_count(int asked, int processes) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / processes);
}

void RunArguments::add_mode_to(CLI::App& app) {
  add_choice(app, "--mode", mode, modes, "how the tower runs")->group("Run");
}

void RunArguments::add_to(CLI::App& app) {
  app.add_option("CHECKPOINT", checkpoint, "Hugging Face folder or hub cache snapshot")->required();
  app.add_option("--device", device, "auto takes a GPU where built and present")
      ->check(known_device)
      ->option_text("auto|cpu|cuda|cuda:i [auto]")
      ->group("Run");
  app.add_option("--dtype", dtype, "auto takes the checkpoint's")
      ->check(CLI::IsMember({"auto", "fp32", "bf16", "fp16"}))
      ->option_text("auto|fp32|bf16|fp16 [auto]")
      ->group("Run");
  app.add_option("--budgets", budgets,
                 "patches that padded batches are rounded up to [configs/budgets.json]")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->option_text("N[,N...]")
      ->group("Graph");
  add_choice(app, "--oversize", oversize, oversizes, "an item above the largest budget")
      ->group("Graph");
  app.add_flag("--poison", poison, "overwrite all that a batch does not write, before each batch")
      ->group("Graph");
  app.add_flag("--capture-all", capture_all,
               "capture all graphs of the plan before the first batch")
      ->group("Graph");
  app.add_option("--graph-memory", graph_memory_mib, "most memory of all graphs, in MiB [32768]")
      ->check(CLI::PositiveNumber)
      ->option_text("MIB")
      ->group("Graph");
  app.add_option("--threads", threads,
                 "compute and decode threads [all cores, shared by local ranks]")
      ->check(CLI::PositiveNumber)
      ->option_text("N")
      ->group("Run");
}

}  // namespace vtower::cli
