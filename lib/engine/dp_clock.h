// Time as a waiting rank counts it.
#pragma once

#include <algorithm>
#include <chrono>

namespace vtower {

// Seconds in which this process was there to look: a process that was stopped (Ctrl-Z) or asleep
// with its machine does not find that all others have been silent. Not thread-safe.
class AttendedClock {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // Call it often: longer gaps count as `longest_gap`.
  Duration tick() {
    const auto now = std::chrono::steady_clock::now();
    attended_ += std::min<Duration>(now - last_, longest_gap);
    last_ = now;
    return attended_;
  }
  [[nodiscard]] Duration now() const noexcept { return attended_; }

 private:
  static constexpr std::chrono::seconds longest_gap{1};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  Duration attended_{};
};

// True about every `period` of attended time.
class Every {
 public:
  explicit Every(AttendedClock::Duration period) : period_(period), next_(period) {}
  bool due(AttendedClock::Duration now) {
    if (now < next_) return false;
    next_ = now + period_;
    return true;
  }

 private:
  AttendedClock::Duration period_;
  AttendedClock::Duration next_;
};

inline constexpr std::chrono::milliseconds dp_poll{10};      // between looks at the store
inline constexpr std::chrono::milliseconds dp_beat{250};     // of rank 0's sign of life
inline constexpr std::chrono::milliseconds dp_sample{1000};  // of a worker's activity

}  // namespace vtower
