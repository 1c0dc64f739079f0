#include "cli/dp_arguments.h"

#include <charconv>
#include <cstdlib>

#include "cli/choice.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

const Choices<DpBalance> balances{{"cost", DpBalance::cost}, {"patches", DpBalance::patches}};

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::mode_unavailable, "dp", message);
}

std::optional<int> number(const char* name) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < 0) {
    refuse(std::string(name) + "=" + *text + ": expected a number from 0");
  }
  return value;
}

int required(const char* name, const char* because) {
  const auto value = number(name);
  if (!value) refuse(std::string(because) + " is set, but not " + name);
  return *value;
}

void check(const DpJob& job, const DpArguments& arguments) {
  if (job.world_size < 1 || job.rank >= job.world_size) {
    refuse("rank " + std::to_string(job.rank) + " of " + std::to_string(job.world_size) +
           ": expected a rank below the number of ranks");
  }
  if (job.port < 1 || job.port > 65535) {
    refuse("port " + std::to_string(job.port) + ": expected 1 to 65535");
  }
  if (arguments.ranks && *arguments.ranks != job.world_size) {
    throw Error(ErrorKind::usage, "dp",
                "--ranks " + std::to_string(*arguments.ranks) + ", but " +
                    std::string(to_string(job.launcher)) + " has started " +
                    std::to_string(job.world_size) + " (leave --ranks out)");
  }
}

DpJob torchrun_job() {
  DpJob job;
  job.launcher = DpLauncher::torchrun;
  job.rank = required("RANK", "WORLD_SIZE");
  job.world_size = required("WORLD_SIZE", "RANK");
  job.local_rank = number("LOCAL_RANK").value_or(job.rank);
  const auto address = variable("MASTER_ADDR");
  if (!address) refuse("RANK is set, but not MASTER_ADDR");
  job.address = *address;
  job.port = required("MASTER_PORT", "RANK");
  job.store_is_there = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  job.attempt = variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return job;
}

DpJob slurm_job() {
  DpJob job;
  job.launcher = DpLauncher::slurm;
  job.rank = required("SLURM_PROCID", "SLURM_NTASKS");
  job.world_size = required("SLURM_NTASKS", "SLURM_PROCID");
  job.local_rank = number("SLURM_LOCALID").value_or(job.rank);
  if (const auto address = variable("MASTER_ADDR")) {
    job.address = *address;
  } else if (const auto step = variable("SLURM_STEP_NODELIST")) {
    job.address = first_of_node_list(*step);
  } else if (const auto nodes = variable("SLURM_NODELIST")) {
    job.address = first_of_node_list(*nodes);
  } else if (const auto launch = variable("SLURM_LAUNCH_NODE_IPADDR")) {
    job.address = *launch;
  } else {
    refuse("SLURM_NTASKS is set, but neither MASTER_ADDR nor SLURM_NODELIST");
  }
  // A port of the job's own, so that jobs that share a host do not meet.
  const int id =
      number("SLURM_JOB_ID").value_or(0) * 31 % 20000 + number("SLURM_STEP_ID").value_or(0) % 100;
  job.port = number("MASTER_PORT").value_or(20000 + id % 20000);
  job.attempt = variable("SLURM_RESTART_COUNT").value_or("0");
  return job;
}

// Also in a batch script, SLURM_NTASKS is set and SLURM_PROCID is 0, though srun started nothing;
// a step of one task starts its own ranks.
bool started_by_srun(const DpArguments& arguments) {
  if (!variable("SLURM_PROCID") || !variable("SLURM_NTASKS")) return false;
  const int tasks = number("SLURM_NTASKS").value_or(1);
  if (!arguments.ranks || *arguments.ranks == tasks) return tasks > 1;
  return tasks > 1 && (variable("SLURM_STEP_ID") || number("SLURM_PROCID").value_or(0) > 0);
}

}  // namespace

std::string_view to_string(DpBalance balance) noexcept {
  return balance == DpBalance::cost ? "cost" : "patches";
}

std::string_view to_string(DpLauncher launcher) noexcept {
  switch (launcher) {
    case DpLauncher::vtower: return "vtower";
    case DpLauncher::torchrun: return "torchrun";
    case DpLauncher::slurm: return "slurm";
  }
  return "unknown";
}

void DpArguments::add_to(CLI::App& app) {
  const auto group = "Data parallel";
  app.add_option("--ranks", ranks, "processes to start on this machine [1]")
      ->check(CLI::Range(1, 4096))
      ->option_text("N")
      ->group(group);
  add_choice(app, "--balance", balance, balances, "what is evened out between ranks")->group(group);
  app.add_option("--timeout", timeout_seconds,
                 "longest wait for a rank that shows no sign of work, in seconds [300]")
      ->check(CLI::Range(1.0, 1e7))
      ->option_text("S")
      ->group(group);
  app.add_flag("--share-gpu", share_gpu, "let several ranks run on one GPU")->group(group);
}

DpJob dp_job(const DpArguments& arguments) {
  DpJob job;
  if (variable("RANK") || variable("WORLD_SIZE")) {
    job = torchrun_job();
  } else if (started_by_srun(arguments)) {
    job = slurm_job();
  } else {
    job.world_size = arguments.ranks.value_or(1);
    job.address = "127.0.0.1";
    return job;
  }
  check(job, arguments);
  return job;
}

std::string first_of_node_list(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string name = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return name;
  const std::size_t close = list.find(']', end);
  const std::string inside = list.substr(end + 1, close - end - 1);
  name += inside.substr(0, inside.find_first_of(",-"));
  if (close == std::string::npos) return name;
  const std::size_t rest = list.find_first_of(",[", close);
  return name + list.substr(close + 1, rest == std::string::npos ? rest : rest - close - 1);
}

}  // namespace vtower::cli
