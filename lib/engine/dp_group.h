// The ranks of a run, from their meeting to rank 0's verdict.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/dp_link.h"
#include "engine/dp_store.h"

namespace vtower {

struct DpPlace {
  int rank = 0;
  int world_size = 1;
};

// How ranks that this process has started are doing.
class RankWatch {
 public:
  virtual ~RankWatch() = default;
  // "was killed by signal 9", once the process of the rank has ended; empty for ranks of others.
  [[nodiscard]] virtual std::optional<std::string> ended(int rank) = 0;
};

enum class GpuSharing { refused, allowed };

// What a rank says about itself when it meets the others.
struct DpIntroduction {
  std::string host;     // tells hosts apart: a name, better an identity
  std::string version;  // all must be equal
  c10::Device device = c10::kCPU;
  GpuSharing sharing = GpuSharing::refused;
  std::optional<Error> refusal;  // why this rank cannot run: rank 0 throws it
};

// Steps are taken by all ranks: meet, link, the run, finish. Not thread-safe.
class DpGroup {
 public:
  // `watch` may be null and must outlive the group.
  DpGroup(const DpPlace& place, DpStore store, RankWatch* watch);

  // Waits for all ranks. Returns rank 0's verdict (an exit code) where it ended the run instead.
  // Throws Error{peer} naming the ranks that did not come in time or have ended;
  // Error{mode_unavailable} on rank 0 when versions or kinds of device differ, two ranks would
  // share a GPU without leave, or a rank brings a refusal.
  std::optional<int> meet(const DpIntroduction& self);

  // Joins the process group: NCCL where every rank has a GPU of its own, else Gloo.
  void connect();

  [[nodiscard]] const DpPlace& place() const noexcept { return place_; }
  [[nodiscard]] bool leads() const noexcept { return place_.rank == 0; }
  [[nodiscard]] DpBackend backend() const noexcept { return backend_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return store_.timeout(); }
  // [rank]; after meet().
  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] int ranks_on_this_host() const;
  [[nodiscard]] DpStore& store() noexcept { return store_; }
  [[nodiscard]] const std::shared_ptr<DpLink>& link() const noexcept { return link_; }
  // How the process of a rank ended, where this process can know.
  [[nodiscard]] std::optional<std::string> ended(int rank) const;

  // Rank 0: a rank that will not answer any more; finish() does not wait for it.
  void give_up(int rank) { answers_[static_cast<std::size_t>(rank)] = false; }
  // Rank 0: tells the others the exit code of the run and waits a while until they know.
  void finish(int exit_code);
  // Other ranks: the code, once rank 0 has told it; says that this rank has seen it.
  std::optional<int> verdict();

 private:
  std::optional<int> meet_as_leader();
  std::optional<int> meet_as_follower();

  DpPlace place_;
  DpStore store_;
  RankWatch* watch_;
  DpIntroduction self_;
  std::vector<std::string> hosts_;
  std::string meeting_address_;  // of rank 0, as other hosts reach it
  DpBackend backend_ = DpBackend::gloo;
  std::vector<bool> answers_;
  std::shared_ptr<DpLink> link_;
};

}  // namespace vtower
