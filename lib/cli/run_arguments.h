// The options on how the tower runs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "tower/placement.h"

namespace vtower::cli {

// `asked`, or the cores this process may use where nothing (0) was asked: its share of them where
// several processes of a run are on this machine.
int thread_count(int asked, int processes = 1);

// auto, cpu, cuda or cuda:i; switches TF32 and reduced-precision sums off on a GPU. Throws
// Error{mode_unavailable} for a device that this build or machine lacks.
c10::Device device_of(const std::string& name);

enum class Mode { eager, graph, graph_plan, dp, oracle };
enum class Oversize { error, eager };

std::string_view to_string(Mode mode) noexcept;

// auto, cpu, cuda or cuda:i.
bool is_device_name(const std::string& text);

struct RunArguments {
  std::string checkpoint;
  Mode mode = Mode::eager;
  std::string device = "auto";
  std::string dtype = "auto";
  int threads = 0;                    // 0: all cores
  std::vector<std::int64_t> budgets;  // empty: configs/budgets.json
  Oversize oversize = Oversize::error;
  bool poison = false;
  bool capture_all = false;
  std::int64_t graph_memory_mib = 32768;

  // Declares CHECKPOINT and the options but --mode.
  void add_to(CLI::App& app);
  void add_mode_to(CLI::App& app);

  // Resolves auto. Throws Error{mode_unavailable} for a device that this build or machine lacks.
  [[nodiscard]] Placement placement(const Checkpoint& opened) const;

  // Sets the process's compute threads, once, and returns their number. `processes` of the run
  // share this machine.
  int apply_threads(int processes = 1) const;
};

}  // namespace vtower::cli
