// A rank's own part of a run, on a thread that can be left behind.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "engine/dp_assignment.h"
#include "engine/dp_message.h"
#include "tower/placement.h"

namespace vtower {

// What a rank runs. The runner is any: ranks can replay graphs as well as call the tower.
struct DpWork {
  std::shared_ptr<const ItemSource> source;
  std::vector<std::string> paths;  // of the items, for those whose rank is lost
  std::shared_ptr<Runner> runner;
  VisionConfig config;
  Placement placement;
  std::int64_t max_batch_rows = 0;
  int decode_threads = 1;
  std::set<std::string> stages;
  Statements statements;  // checkpoint, options, inputs: compared between ranks
};

// Made from the headers of all items, the same on every rank. Indices are those of the request.
struct DpPlan {
  DpAssignment assignment;             // of the items whose headers are sound
  std::vector<BatchPlan> batches;      // [rank]
  std::vector<IndexedResult> unsound;  // the failures of the other items
};

class DpWorker {
 public:
  struct Event {
    DpMessage message;
    std::exception_ptr error;  // of Kind::failed
  };
  struct Options {
    int rank = 0;
    int world_size = 1;
    DpBalance balance = DpBalance::cost;
  };

  // Starts at once. `prepare` runs on the worker's thread.
  DpWorker(std::function<DpWork()> prepare, const Options& options);
  // Does not wait: a thread that hangs keeps what it uses.
  ~DpWorker() = default;
  DpWorker(const DpWorker&) = delete;
  DpWorker& operator=(const DpWorker&) = delete;

  // The next event, waited for at most `limit`: prepared, results as batches finish, then finished
  // or failed as the last.
  std::optional<Event> next(std::chrono::milliseconds limit);

  // Whether the work got on since the last call: an event, or time of a processor. Call it about
  // once a second and from the thread that calls next().
  bool is_active();

  // After the event `prepared`.
  [[nodiscard]] const DpPlan& plan() const { return *state_->plan; }
  [[nodiscard]] const DpWork& work() const { return *state_->work; }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Event> events;
    std::int64_t count = 0;  // of events so far
    bool ended = false;
    std::optional<DpWork> work;
    std::optional<DpPlan> plan;

    void put(Event event);
    void run(const std::function<DpWork()>& prepare, const Options& options);
  };
  std::shared_ptr<State> state_;
  std::int64_t seen_ = 0;
  std::chrono::nanoseconds processor_{};
  std::chrono::steady_clock::time_point sampled_;
};

}  // namespace vtower
