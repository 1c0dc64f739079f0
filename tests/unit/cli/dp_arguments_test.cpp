// Who a process is in a run of several, by what its launcher left in the environment.
#include "cli/dp_arguments.h"

#include <stdlib.h>

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "support/doctest.h"

using namespace vtower;
using namespace vtower::cli;

namespace {

using Variables = std::map<std::string, std::string>;

const std::vector<const char*> all{"RANK",
                                   "WORLD_SIZE",
                                   "LOCAL_RANK",
                                   "MASTER_ADDR",
                                   "MASTER_PORT",
                                   "TORCHELASTIC_USE_AGENT_STORE",
                                   "TORCHELASTIC_RESTART_COUNT",
                                   "SLURM_PROCID",
                                   "SLURM_NTASKS",
                                   "SLURM_LOCALID",
                                   "SLURM_NODELIST",
                                   "SLURM_STEP_NODELIST",
                                   "SLURM_STEP_ID",
                                   "SLURM_JOB_ID",
                                   "SLURM_LAUNCH_NODE_IPADDR",
                                   "SLURM_RESTART_COUNT"};

DpJob job_with(const Variables& variables, std::optional<int> ranks = std::nullopt) {
  for (const char* name : all) ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  DpArguments arguments;
  arguments.ranks = ranks;
  return dp_job(arguments);
}

ErrorKind refusal(const Variables& variables, std::optional<int> ranks = std::nullopt) {
  try {
    (void)job_with(variables, ranks);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("accepted");
  return ErrorKind::usage;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

const Variables torchrun{{"RANK", "3"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "node7"},
                         {"MASTER_PORT", "29501"}};
const Variables slurm{{"SLURM_PROCID", "5"},
                      {"SLURM_NTASKS", "6"},
                      {"SLURM_LOCALID", "2"},
                      {"SLURM_NODELIST", "gpu-[07-09,12],login"},
                      {"SLURM_JOB_ID", "1234"}};

}  // namespace

TEST_CASE("without a launcher this process starts the ranks") {
  const DpJob job = job_with({}, 4);
  CHECK(job.launcher == DpLauncher::vtower);
  CHECK(job.world_size == 4);
  CHECK(job.rank == 0);
  CHECK(job_with({}).world_size == 1);
  CHECK(job_with({{"MASTER_PORT", "1"}}, 2).launcher == DpLauncher::vtower);
}

TEST_CASE("torchrun's variables") {
  const DpJob job = job_with(torchrun);
  CHECK(job.launcher == DpLauncher::torchrun);
  CHECK(job.rank == 3);
  CHECK(job.world_size == 8);
  CHECK(job.local_rank == 1);
  CHECK(job.address == "node7");
  CHECK(job.port == 29501);
  CHECK_FALSE(job.store_is_there);
  CHECK(job_with(torchrun, 8).world_size == 8);
  CHECK(job_with(with(torchrun, "TORCHELASTIC_USE_AGENT_STORE", "True")).store_is_there);
  CHECK(job_with(with(torchrun, "TORCHELASTIC_RESTART_COUNT", "2")).attempt == "2");
  // srun sets its own beside them
  CHECK(job_with(with(torchrun, "SLURM_PROCID", "0")).launcher == DpLauncher::torchrun);
}

TEST_CASE("an environment that is half set is refused, never run alone") {
  for (const std::string name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    CAPTURE(name);
    CHECK(refusal(without(torchrun, name)) == ErrorKind::mode_unavailable);
  }
  CHECK(refusal(with(torchrun, "RANK", "8")) == ErrorKind::mode_unavailable);
  CHECK(refusal(with(torchrun, "RANK", "-1")) == ErrorKind::mode_unavailable);
  CHECK(refusal(with(torchrun, "WORLD_SIZE", "8x")) == ErrorKind::mode_unavailable);
  CHECK(refusal(with(torchrun, "MASTER_PORT", "65536")) == ErrorKind::mode_unavailable);
  CHECK(refusal(without(slurm, "SLURM_NODELIST")) == ErrorKind::mode_unavailable);
  CHECK(refusal(torchrun, 4) == ErrorKind::usage);
  CHECK(refusal(slurm, 4) == ErrorKind::usage);
}

TEST_CASE("Slurm's variables") {
  const DpJob job = job_with(slurm);
  CHECK(job.launcher == DpLauncher::slurm);
  CHECK(job.rank == 5);
  CHECK(job.world_size == 6);
  CHECK(job.local_rank == 2);
  CHECK(job.address == "gpu-07");
  CHECK(job.port >= 20000);
  CHECK(job.port < 40000);
  CHECK(job_with(with(slurm, "SLURM_PROCID", "0")).port == job.port);
  CHECK(job_with(with(slurm, "SLURM_JOB_ID", "1235")).port != job.port);
  CHECK(job_with(with(slurm, "SLURM_JOB_ID", "2000000000")).port < 40000);
  CHECK(job_with(with(slurm, "MASTER_ADDR", "10.0.0.1")).address == "10.0.0.1");
  CHECK(job_with(with(slurm, "MASTER_PORT", "4000")).port == 4000);
  CHECK(job_with(with(without(slurm, "SLURM_NODELIST"), "SLURM_LAUNCH_NODE_IPADDR", "10.0.0.2"))
            .address == "10.0.0.2");
}

TEST_CASE("a Slurm task that srun did not multiply starts its own ranks") {
  const Variables alone{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_NODELIST", "a"}};
  CHECK(job_with(alone, 8).launcher == DpLauncher::vtower);
  CHECK(job_with(alone, 8).world_size == 8);
  // a batch script sees the tasks of the allocation, and is no step of it
  const Variables script = with(alone, "SLURM_NTASKS", "4");
  CHECK(job_with(script, 2).launcher == DpLauncher::vtower);
  CHECK(refusal(with(script, "SLURM_STEP_ID", "0"), 2) == ErrorKind::usage);
}

TEST_CASE("the first host of Slurm's list") {
  CHECK(first_of_node_list("a1") == "a1");
  CHECK(first_of_node_list("a1,b[2-3]") == "a1");
  CHECK(first_of_node_list("n[001-003,007],other") == "n001");
  CHECK(first_of_node_list("n[5,7]") == "n5");
  CHECK(first_of_node_list("rack[2-4]-ib,x") == "rack2-ib");
}
