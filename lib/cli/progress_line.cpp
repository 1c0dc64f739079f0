#include "cli/progress_line.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace vtower::cli {

ProgressLine::ProgressLine(const Terminal& terminal, std::string unit)
    : terminal_(terminal),
      unit_(std::move(unit)),
      style_(terminal.progress),
      start_(Clock::now()),
      last_(start_) {
  if (style_ == ProgressStyle::automatic) {
    style_ = terminal.err_is_tty ? ProgressStyle::bar : ProgressStyle::plain;
  }
  if (terminal.quiet) style_ = ProgressStyle::none;
}

ProgressLine::~ProgressLine() {
  if (drawn_) terminal_.err << "\r\033[K" << std::flush;
}

std::string ProgressLine::text(std::size_t done, std::size_t total) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  char numbers[96];
  std::snprintf(numbers, sizeof(numbers), "%zu/%zu %s, %.1f/s, %.0f s left", done, total,
                unit_.c_str(), rate, rate > 0 ? static_cast<double>(total - done) / rate : 0.0);
  return numbers;
}

void ProgressLine::update(std::size_t done, std::size_t total) {
  using std::chrono_literals::operator""s;
  if (style_ == ProgressStyle::none || done > total) return;
  if (style_ == ProgressStyle::plain) {
    if (Clock::now() - last_ < 5s) return;
    last_ = Clock::now();
    terminal_.err << text(done, total) << std::endl;
    return;
  }
  constexpr std::size_t width = 30;
  const std::size_t filled = total == 0 ? width : width * done / total;
  terminal_.err << "\r\033[K[" << std::string(filled, '#') << std::string(width - filled, '.')
                << "] " << text(done, total) << std::flush;
  drawn_ = true;
}

}  // namespace vtower::cli
