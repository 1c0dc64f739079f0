#include <ATen/ops/empty.h>

#include <optional>

#include "core/error.h"
#include "engine/dp_clock.h"
#include "engine/dp_encode.h"
#include "engine/dp_transfer.h"

namespace vtower {
namespace {

class Follow {
 public:
  Follow(DpGroup& group, const std::function<DpWork()>& prepare, const DpOptions& options)
      : group_(group),
        rank_(group.place().rank),
        worker_(prepare, {rank_, group.place().world_size, options.balance}) {}

  int run() {
    while (true) {
      clock_.tick();
      speak();
      if (beat_.due(clock_.now())) {
        if (const auto code = group_.verdict()) return *code;
        watch_leader();
      }
      if (sample_.due(clock_.now()) && worker_.is_active()) {
        group_.store().add("beat/" + std::to_string(rank_), 1);
      }
    }
  }

 private:
  // Announces the worker's next event in the store, then sends its rows by the link.
  void speak() {
    auto event = worker_.next(dp_poll);
    if (event) waiting_.push_back(std::move(event->message));
    if (transfer_) {
      try {
        if (!transfer_->finished()) return;
        transfer_.reset();
      } catch (const Error& error) {
        // Rank 0 may have ended the run meanwhile; its verdict or its silence tells.
        if (!broken_since_) broken_since_ = clock_.now();
        if (clock_.now() - *broken_since_ > group_.timeout()) throw;
        return;
      }
    }
    if (waiting_.empty()) return;
    PackedMessage packed = pack(waiting_.front());
    waiting_.pop_front();
    group_.store().set("event/" + std::to_string(rank_) + "/" + std::to_string(events_++),
                       packed.header);
    if (packed.payload.size(0) == 0) return;
    transfer_.emplace([link = group_.link(), rows = std::move(packed.payload)] {
      link->send(rows, 0);
      return at::empty({0}, at::kByte);
    });
  }

  void watch_leader() {
    const std::int64_t beats = group_.store().add("beat/0", 0);
    if (beats != beats_) last_sign_ = clock_.now();
    beats_ = beats;
    if (clock_.now() - last_sign_ >= group_.timeout()) {
      throw Error(ErrorKind::peer, "dp",
                  "rank 0 gave no sign of life for " +
                      std::to_string(group_.timeout().count() / 1000) + " s (--timeout)");
    }
  }

  DpGroup& group_;
  int rank_;
  AttendedClock clock_;
  Every beat_{dp_beat};
  Every sample_{dp_sample};
  DpWorker worker_;
  std::deque<DpMessage> waiting_;
  std::optional<DpTransfer> transfer_;
  std::optional<AttendedClock::Duration> broken_since_;
  AttendedClock::Duration last_sign_{};
  std::int64_t beats_ = 0;
  std::size_t events_ = 0;
};

}  // namespace

int dp_follow(DpGroup& group, const std::function<DpWork()>& prepare, const DpOptions& options) {
  return Follow(group, prepare, options).run();
}

}  // namespace vtower
