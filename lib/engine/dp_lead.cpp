#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "core/error.h"
#include "engine/dp_clock.h"
#include "engine/dp_encode.h"
#include "engine/dp_transfer.h"

namespace vtower {
namespace {

using Duration = AttendedClock::Duration;

std::string rank_name(int rank) {
  return "rank " + std::to_string(rank);
}

std::string seconds_of(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

struct Peer {
  enum class State { running, finished, lost };
  State state = State::running;
  bool alike = false;      // its statements were compared
  std::size_t events = 0;  // handled
  std::int64_t beats = 0;
  Duration last_sign{};
  LedgerRecord ledger;
  std::string header;  // of the message whose payload is under way
  std::optional<DpTransfer> transfer;
};

class Lead {
 public:
  Lead(DpGroup& group, const std::function<DpWork()>& prepare, const DpOptions& options)
      : group_(group),
        options_(options),
        worker_(prepare, {0, group.place().world_size, options.balance}),
        peers_(static_cast<std::size_t>(group.place().world_size)) {}

  DpResult run() {
    while (!ended()) {
      clock_.tick();
      hear_own();
      // What a peer says can be judged once this rank knows its own inputs.
      for (int r = 1; prepared_ && r < static_cast<int>(peers_.size()); ++r) hear(r);
      if (beat_.due(clock_.now())) {
        group_.store().add("beat/0", 1);
        look_for_signs();
      }
    }
    return result();
  }

 private:
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] bool ended() const {
    if (deadline_ && clock_.now() >= *deadline_) return true;
    return std::all_of(peers_.begin(), peers_.end(),
                       [](const Peer& peer) { return peer.state != Peer::State::running; });
  }

  void hear_own() {
    auto event = worker_.next(dp_poll);
    if (!event || peer(0).state != Peer::State::running) return;
    if (event->message.kind == DpMessage::Kind::failed && !prepared_) {
      std::rethrow_exception(event->error);
    }
    if (event->message.kind == DpMessage::Kind::prepared) {
      prepared_ = std::move(event->message.statements);
      peer(0).alike = true;
      open_result();
      return;
    }
    handle(0, std::move(event->message));
  }

  void hear(int rank) {
    Peer& other = peer(rank);
    if (other.state != Peer::State::running) return;
    try {
      if (other.transfer) {
        const auto payload = other.transfer->finished();
        if (!payload) return;
        other.transfer.reset();
        handle(rank, unpack(other.header, *payload));
        return;
      }
      const auto header =
          group_.store().take("event/" + std::to_string(rank) + "/" + std::to_string(other.events));
      if (!header) {
        // what it had to say before its end has been heard
        if (const auto end = group_.ended(rank)) lose(rank, ErrorKind::peer, *end);
        return;
      }
      ++other.events;
      other.header = *header;
      const std::int64_t bytes = payload_bytes(*header);
      if (bytes == 0) {
        handle(rank, unpack(*header, at::empty({0}, at::kByte)));
      } else {
        other.transfer.emplace(
            [link = group_.link(), bytes, rank] { return link->receive(bytes, rank); });
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::peer || rank_is_refused_) throw;
      const auto end = end_of(rank);  // says more than a connection that broke
      lose(rank, ErrorKind::peer, end ? *end : "was lost: " + error.message());
    }
  }

  // How a rank ended whose connection is closed: its process may take a moment to be gone.
  std::optional<std::string> end_of(int rank) {
    std::optional<std::string> end;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (!(end = group_.ended(rank)) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(dp_poll);
    }
    return end;
  }

  void handle(int rank, DpMessage message) {
    Peer& other = peer(rank);
    other.last_sign = clock_.now();
    switch (message.kind) {
      case DpMessage::Kind::prepared: compare(rank, message.statements); break;
      case DpMessage::Kind::results: keep(rank, std::move(message)); break;
      case DpMessage::Kind::finished: other.state = Peer::State::finished; break;
      case DpMessage::Kind::failed:
        if (!other.alike) {
          rank_is_refused_ = true;
          throw Error(message.error, rank_name(rank), message.text);
        }
        lose(rank, message.error, "failed: " + message.text);
        break;
    }
  }

  void compare(int rank, const Statements& statements) {
    for (std::size_t i = 0; i < prepared_->size(); ++i) {
      const auto& [name, value] = (*prepared_)[i];
      const std::string found = i < statements.size() ? statements[i].second : "nothing";
      if (found == value) continue;
      throw Error(ErrorKind::mode_unavailable, "dp",
                  rank_name(rank) + " and rank 0 have different " + name + ": " + found +
                      " against " + value +
                      "; every rank must be given the same files and options");
    }
    peer(rank).alike = true;
  }

  void open_result() {
    result_.plan = worker_.plan();
    const std::size_t count = worker_.work().source->size();
    results_.resize(count);
    result_.ranks.resize(count);
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      for (const std::size_t item : result_.plan.assignment.items[r]) {
        result_.ranks[item] = static_cast<int>(r);
      }
    }
    progress_.items = count;
    for (IndexedResult& failure : result_.plan.unsound) {
      results_[failure.first] = std::move(failure.second);
      ++progress_.items_done;
    }
  }

  void keep(int rank, DpMessage message) {
    if (!form_) form_ = message.form;
    if (!(message.form == *form_)) {
      throw Error(
          ErrorKind::mode_unavailable, "dp",
          rank_name(rank) + " puts out " + message.form.text() + ", others " + form_->text());
    }
    for (auto& [index, result] : message.results) {
      if (index >= results_.size() || result_.ranks[index] != rank) {
        throw Error(
            ErrorKind::peer, "dp",
            rank_name(rank) + " sent item " + std::to_string(index) + ", which is not its own");
      }
      if (const auto* item = std::get_if<EncodedItem>(&result)) {
        progress_.patches_done += item->embeddings.grid.patches();
      }
      results_[index] = std::move(result);
      ++progress_.items_done;
    }
    peer(rank).ledger = std::move(message.ledger);
    if (options_.on_progress && !message.results.empty()) options_.on_progress(progress_);
  }

  void look_for_signs() {
    const Duration now = clock_.now();
    if (sample_.due(now) && worker_.is_active()) peer(0).last_sign = now;
    for (int r = 0; r < static_cast<int>(peers_.size()); ++r) {
      Peer& other = peer(r);
      if (other.state != Peer::State::running) continue;
      if (r > 0) {
        const std::int64_t beats = group_.store().add("beat/" + std::to_string(r), 0);
        if (beats != other.beats) other.last_sign = now;
        other.beats = beats;
        // before this rank is prepared, nobody else looks
        if (const auto end = prepared_ ? std::nullopt : group_.ended(r)) {
          lose(r, ErrorKind::peer, *end);
          continue;
        }
      }
      if (now - other.last_sign >= group_.timeout()) {
        lose(r, ErrorKind::peer,
             "gave no sign of life for " + seconds_of(group_.timeout()) + " (--timeout)");
      }
    }
  }

  void lose(int rank, ErrorKind kind, const std::string& how) {
    Peer& other = peer(rank);
    other.state = Peer::State::lost;
    other.transfer.reset();
    if (rank > 0 && kind == ErrorKind::peer) group_.give_up(rank);
    result_.lost.push_back({rank, kind, rank_name(rank) + " " + how});
    const Duration limit = other.last_sign + group_.timeout();
    deadline_ = deadline_ ? std::min(*deadline_, limit) : limit;
  }

  DpResult result() {
    if (!prepared_) {
      const DpLoss& loss = result_.lost.front();
      throw Error(loss.kind, "dp", loss.message + " before the run had begun");
    }
    const std::string cause = result_.lost.empty() ? "" : result_.lost.front().message;
    for (int r = 0; r < static_cast<int>(peers_.size()); ++r) {
      if (peer(r).state != Peer::State::running) continue;
      result_.lost.push_back({r, ErrorKind::peer,
                              rank_name(r) + " was stopped " + seconds_of(group_.timeout()) +
                                  " (--timeout) after the last sign of a lost rank (" + cause +
                                  ")"});
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (results_[i]) {
        result_.items.push_back(std::move(*results_[i]));
        continue;
      }
      const auto loss =
          std::find_if(result_.lost.begin(), result_.lost.end(),
                       [&](const DpLoss& entry) { return entry.rank == result_.ranks[i]; });
      const std::string why = loss != result_.lost.end() ? loss->message : "no rank sent it";
      result_.items.push_back(ItemFailure{worker_.work().paths[i], ErrorKind::peer,
                                          "[dp] " + why + "; this item was not done by then"});
    }
    for (const Peer& other : peers_) result_.ledger = joined(result_.ledger, other.ledger);
    return std::move(result_);
  }

  DpGroup& group_;
  const DpOptions& options_;
  AttendedClock clock_;
  Every beat_{dp_beat};
  Every sample_{dp_sample};
  DpWorker worker_;
  std::vector<Peer> peers_;
  bool rank_is_refused_ = false;
  std::optional<Statements> prepared_;
  std::optional<OutputForm> form_;
  std::optional<Duration> deadline_;
  std::vector<std::optional<ItemResult>> results_;
  Progress progress_;
  DpResult result_;
};

}  // namespace

DpResult dp_lead(DpGroup& group, const std::function<DpWork()>& prepare, const DpOptions& options) {
  return Lead(group, prepare, options).run();
}

}  // namespace vtower
