#include "cli/encode_dp.h"

#include <ATen/Context.h>
#include <c10/util/Logging.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/encode_output.h"
#include "cli/file_source.h"
#include "cli/local_ranks.h"
#include "cli/mode_run.h"
#include "cli/progress_line.h"
#include "cli/stop.h"
#include "cli/version.h"
#include "core/digest.h"
#include "engine/dp_encode.h"

namespace vtower::cli {
namespace {

// What a rank's worker makes; kept until the process ends.
struct Prepared {
  Checkpoint checkpoint;
  int threads;
  ModeRun mode;
  PixelSpec spec;
  FileSource source;
  Json checkpoint_record;

  Prepared(const EncodeCommand& command, const RunArguments& run, int processes)
      : checkpoint(Checkpoint::open(run.checkpoint)),
        threads(run.apply_threads(processes)),
        mode(run, checkpoint, threads),
        spec(command.media.apply_to(checkpoint.preprocessor().pixels)),
        source(command.media.paths(), spec, command.media.options, threads),
        checkpoint_record(checkpoint_json(checkpoint)) {}
};

std::string digest(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + '\0';
  return xxh3_hex({reinterpret_cast<const std::uint8_t*>(all.data()), all.size()});
}

DpWork work_of(const EncodeCommand& command, const RunArguments& run,
               const std::shared_ptr<Prepared>& prepared) {
  const Checkpoint& checkpoint = prepared->checkpoint;
  DpWork work;
  work.source = {prepared, &prepared->source};
  for (std::size_t i = 0; i < prepared->source.size(); ++i) {
    work.paths.push_back(prepared->source.path(i).string());
  }
  work.runner = {prepared, &prepared->mode.runner()};
  work.config = checkpoint.vision();
  work.placement = run.placement(checkpoint);
  work.max_batch_rows = prepared->mode.max_batch_rows();
  work.decode_threads = prepared->threads;
  work.stages = stages_of(work.config, command.stages);
  const std::vector<std::string> asked(work.stages.begin(), work.stages.end());
  work.statements = {
      {"checkpoints", prepared->checkpoint_record["hash"]},
      {"normalisation", norm_json(checkpoint.preprocessor()).dump()},
      {"options on pixels", profile_json(command.media).dump()},
      {"dtypes", std::string(to_string(work.placement.dtype))},
      {"stages", digest(asked)},
      {"--balance", std::string(to_string(command.dp.balance))},
      {"lists of inputs", std::to_string(work.paths.size()) + " items, " + digest(work.paths)}};
  return work;
}

// The GPU of this rank, in the words of --device.
std::string gpu_of_rank(const EncodeCommand& command, const DpJob& job) {
  const std::string& asked = command.run.device;
  const int gpus = at::hasCUDA() ? static_cast<int>(at::getNumGPUs()) : 0;
  if (gpus == 0 || (asked != "auto" && asked != "cuda")) return asked;
  // A launcher may show each rank its own GPU alone.
  const bool own = gpus == 1 && job.launcher != DpLauncher::vtower && job.local_rank > 0 &&
                   std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  if (job.local_rank >= gpus && !own && !command.dp.share_gpu) {
    throw Error(ErrorKind::mode_unavailable, "dp",
                "rank " + std::to_string(job.rank) + " of " + std::to_string(job.world_size) +
                    " is process " + std::to_string(job.local_rank + 1) + " on this host, where " +
                    std::to_string(gpus) +
                    " GPUs are visible; start fewer ranks, or ask for it by --share-gpu");
  }
  return "cuda:" + std::to_string(job.local_rank % gpus);
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

Json dp_json(const DpGroup& group, const DpArguments& arguments, const DpJob& job,
             const DpResult& result) {
  Json ranks = Json::array();
  for (std::size_t r = 0; r < result.plan.assignment.items.size(); ++r) {
    const auto lost = std::find_if(result.lost.begin(), result.lost.end(), [&](const DpLoss& loss) {
      return loss.rank == static_cast<int>(r);
    });
    ranks.push_back({{"rank", r},
                     {"host", group.hosts()[r]},
                     {"items", result.plan.assignment.items[r]},
                     {"load", result.plan.assignment.loads[r]},
                     {"lost", lost == result.lost.end() ? Json() : Json(lost->message)}});
  }
  return {{"backend", to_string(group.backend())},
          {"launcher", to_string(job.launcher)},
          {"balance", to_string(arguments.balance)},
          {"timeout_seconds", arguments.timeout_seconds},
          {"ranks", std::move(ranks)}};
}

BatchPlan all_batches(const DpPlan& plan) {
  BatchPlan all;
  for (const BatchPlan& batches : plan.batches) {
    all.max_rows = batches.max_rows;
    all.batches.insert(all.batches.end(), batches.batches.begin(), batches.batches.end());
  }
  return all;
}

class DpRun {
 public:
  DpRun(const EncodeCommand& command, const Terminal& terminal, const DpJob& job)
      : command_(command), terminal_(terminal), job_(job), run_(command.run) {}

  ExitCode lead() {
    // Said before any process is started: the last local rank asks for the most.
    DpJob last = job_;
    if (job_.launcher == DpLauncher::vtower) last.local_rank = job_.world_size - 1;
    (void)gpu_of_rank(command_, last);
    const bool starts = job_.launcher == DpLauncher::vtower && job_.world_size > 1;
    const auto& inputs = command_.media.inputs;
    if (starts && std::find(inputs.begin(), inputs.end(), "-") != inputs.end()) {
      make_stdin_rereadable();
    }
    LocalRanks children;
    DpStore store(store_address(), timeout());
    if (starts) children.start(job_.world_size, store.port());
    DpGroup group({job_.rank, job_.world_size}, std::move(store), &children);
    try {
      const ExitCode code = lead(group);
      group.finish(static_cast<int>(code));
      return code;
    } catch (...) {
      tell(group, exit_code_of(current_stop().kind));
      throw;
    }
  }

  ExitCode follow() {
    try {
      DpGroup group({job_.rank, job_.world_size}, DpStore(store_address(), timeout()), nullptr);
      if (const auto code = enter(group)) return static_cast<ExitCode>(*code);
      const int code = dp_follow(group, prepare(group.ranks_on_this_host()), options());
      return static_cast<ExitCode>(code);
    } catch (...) {
      const Stop stop = current_stop();
      terminal_.complain("rank " + std::to_string(job_.rank) + ": " + stop.message);
      return exit_code_of(stop.kind);
    }
  }

 private:
  [[nodiscard]] std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(command_.dp.timeout_seconds * 1000));
  }

  [[nodiscard]] DpStoreAddress store_address() const {
    const bool serves = job_.rank == 0 && !job_.store_is_there;
    return {job_.address, static_cast<std::uint16_t>(job_.port),
            serves ? DpStoreRole::server : DpStoreRole::client, "vtower/" + job_.attempt + "/"};
  }

  [[nodiscard]] DpOptions options() const { return {command_.dp.balance, {}}; }

  // Meets and connects; rank 0's verdict where it has ended the run already.
  std::optional<int> enter(DpGroup& group) {
    DpIntroduction self{host_name(), version, c10::kCPU, GpuSharing::refused, {}};
    if (command_.dp.share_gpu) self.sharing = GpuSharing::allowed;
    try {
      run_.device = gpu_of_rank(command_, job_);
      self.device = device_of(run_.device);
    } catch (const Error& error) {
      if (group.leads()) throw;
      self.refusal = error;
    }
    if (const auto code = group.meet(self)) return code;
    group.connect();
    return std::nullopt;
  }

  std::function<DpWork()> prepare(int processes) {
    return [this, processes] {
      prepared_ = std::make_shared<Prepared>(command_, run_, processes);
      return work_of(command_, run_, prepared_);
    };
  }

  ExitCode lead(DpGroup& group) {
    (void)enter(group);
    ProgressLine progress(terminal_, "items");
    DpOptions options = this->options();
    options.on_progress = [&](const Progress& now) { progress.update(now.items_done, now.items); };
    DpResult result = dp_lead(group, prepare(group.ranks_on_this_host()), options);
    Json attestation = prepared_->mode.attestation();
    attestation["world_size"] = job_.world_size;
    attestation["dp"] = dp_json(group, command_.dp, job_, result);
    EncodeOutput output{std::move(result.items),
                        std::move(result.ranks),
                        prepared_->spec.layout.merge_size,
                        prepared_->checkpoint_record,
                        norm_json(prepared_->checkpoint.preprocessor()),
                        plan_json(all_batches(result.plan)),
                        std::move(attestation),
                        ledger_json(result.ledger),
                        {}};
    for (const DpLoss& loss : result.lost) {
      output.trouble.emplace_back(loss.kind, "[dp] " + loss.message);
    }
    return write_output(command_, terminal_, output);
  }

  // The others need not wait for what cannot come; that they cannot be told changes nothing here.
  static void tell(DpGroup& group, ExitCode code) {
    try {
      group.finish(static_cast<int>(code));
    } catch (const Error&) {
    }
  }

  const EncodeCommand& command_;
  const Terminal& terminal_;
  DpJob job_;
  RunArguments run_;
  std::shared_ptr<Prepared> prepared_;
};

}  // namespace

ExitCode encode_dp(const EncodeCommand& command, const Terminal& terminal) {
  const DpJob job = dp_job(command.dp);
  ::signal(SIGPIPE, SIG_IGN);  // a lost connection is an error that names the rank
  // Time is kept by the run; NCCL's watchdog would end the process with all it has finished.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 1);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 1);
  // What c10d logs is in its errors too.
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();
  // Left to the process's end: threads that hang may still use it.
  auto* run = new DpRun(command, terminal, job);
  return job.rank == 0 ? run->lead() : run->follow();
}

}  // namespace vtower::cli
