// The options on data parallel, and the place in a run that the environment gives a process.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "engine/dp_assignment.h"

namespace vtower::cli {

struct DpArguments {
  std::optional<int> ranks;
  DpBalance balance = DpBalance::cost;
  double timeout_seconds = 300;
  bool share_gpu = false;

  void add_to(CLI::App& app);
};

std::string_view to_string(DpBalance balance) noexcept;

enum class DpLauncher { vtower, torchrun, slurm };

std::string_view to_string(DpLauncher launcher) noexcept;

// Who this process is in a run of several.
struct DpJob {
  DpLauncher launcher = DpLauncher::vtower;  // vtower: this process starts the other ranks
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the processes of this host
  std::string address;
  int port = 0;
  bool store_is_there = false;  // torchrun's agent serves it; otherwise rank 0 does
  std::string attempt = "0";    // torchrun starts a failed job again
};

// From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (torchrun and its like), else from
// SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID and SLURM_NODELIST (srun; MASTER_ADDR and MASTER_PORT
// count where they are set), else from --ranks alone. Throws Error{mode_unavailable} on variables
// that are half set or no numbers, Error{usage} where --ranks contradicts them.
DpJob dp_job(const DpArguments& arguments);

// "node-01" of "node-[01-03,07],other".
std::string first_of_node_list(const std::string& list);

}  // namespace vtower::cli
