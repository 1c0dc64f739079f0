// Timing of calls on a machine that others use too.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace vtower::cli {

// Seconds of one call.
template <typename Call>
double seconds_of(Call&& call) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<Call>(call)();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Pair {
  double ours = 0;     // seconds, the best of the repeats
  double ceiling = 0;  // seconds, the best of the repeats
};

// Both calls warmed once and then taken in turns (A B B A ...), so that a busy neighbour meets
// both; the best of each counts.
template <typename Ours, typename Ceiling>
Pair time_in_turns(int repeats, Ours&& ours, Ceiling&& ceiling) {
  ours();
  ceiling();
  Pair best{1e30, 1e30};
  for (int i = 0; i < repeats; ++i) {
    const auto run_ours = [&] { best.ours = std::min(best.ours, seconds_of(ours)); };
    const auto run_ceiling = [&] { best.ceiling = std::min(best.ceiling, seconds_of(ceiling)); };
    if (i % 2 == 0) run_ours();
    run_ceiling();
    if (i % 2 != 0) run_ours();
  }
  return best;
}

}  // namespace vtower::cli
