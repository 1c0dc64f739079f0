// Progress on standard error: a bar on a terminal, a line every few seconds in a log.
#pragma once

#include <chrono>
#include <string>

#include "cli/terminal.h"

namespace vtower::cli {

class ProgressLine {
 public:
  // `unit` names what is counted: "items".
  ProgressLine(const Terminal& terminal, std::string unit);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::string text(std::size_t done, std::size_t total) const;

  const Terminal& terminal_;
  std::string unit_;
  ProgressStyle style_;
  Clock::time_point start_;
  Clock::time_point last_;
  bool drawn_ = false;
};

}  // namespace vtower::cli
