// The ranks that this process starts on its own machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/dp_group.h"

namespace vtower::cli {

// Children run the same command line with the environment of a torchrun rank. They die with this
// process, however it ends, and are gone when this object is: after the run they have a while to
// end by themselves. Not thread-safe; use it from the thread that lives longest.
class LocalRanks final : public RankWatch {
 public:
  LocalRanks() = default;
  ~LocalRanks() override;
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  // Starts ranks 1..world_size-1 for a store on this machine. Throws Error{mode_unavailable} when
  // a process cannot be started.
  void start(int world_size, std::uint16_t port);

  [[nodiscard]] std::optional<std::string> ended(int rank) override;

 private:
  struct Child {
    pid_t pid = 0;
    std::optional<std::string> end;
  };
  std::vector<Child> children_;  // of rank i + 1
};

// Standard input as each rank can read it anew: a list of files may come from there.
void make_stdin_rereadable();

}  // namespace vtower::cli
