#include "engine/dp_group.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"

namespace vtower {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto poll = std::chrono::milliseconds(5);
constexpr auto farewell = std::chrono::seconds(10);

std::string bytes_of(const Json& json) {
  std::string bytes;
  Json::to_msgpack(json, bytes);
  return bytes;
}

std::string key(const char* name, int rank) {
  return std::string(name) + "/" + std::to_string(rank);
}

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

Error unavailable(const std::string& message) {
  return {ErrorKind::mode_unavailable, "dp", message};
}

struct Guest {
  std::string host;
  std::string version;
  std::string device;    // cpu, cuda
  std::string identity;  // of its GPU
  std::string target;    // the address under which it found rank 0
  bool shares = false;
  std::optional<ErrorKind> refusal;
  std::string why;
};

Guest guest_of(const std::string& bytes) {
  try {
    const Json json = Json::from_msgpack(bytes);
    Guest guest{json.at("host"),   json.at("version"), json.at("device"), json.at("identity"),
                json.at("target"), json.at("shares"),  std::nullopt,      json.at("why")};
    if (!guest.why.empty()) guest.refusal = static_cast<ErrorKind>(json.at("refusal").get<int>());
    return guest;
  } catch (const Json::exception&) {
    throw unavailable("another program, or another version of vtower, takes part under this port");
  }
}

// Returns whether GPUs are shared.
bool check_devices(const std::vector<Guest>& guests) {
  std::map<std::string, std::vector<int>> users;
  for (std::size_t r = 0; r < guests.size(); ++r) {
    const auto rank = static_cast<int>(r);
    if (guests[r].version != guests[0].version) {
      throw unavailable("rank " + std::to_string(rank) + " runs version " + guests[r].version +
                        ", rank 0 runs " + guests[0].version);
    }
    if (guests[r].device != guests[0].device) {
      throw unavailable("rank " + std::to_string(rank) + " runs on " + guests[r].device +
                        ", rank 0 on " + guests[0].device +
                        "; give --device, or make the same devices visible everywhere");
    }
    if (!guests[r].identity.empty()) users[guests[r].identity].push_back(rank);
  }
  bool shared = false;
  for (const auto& [identity, ranks] : users) {
    if (ranks.size() < 2) continue;
    shared = true;
    const bool allowed = std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
      return guests[static_cast<std::size_t>(rank)].shares;
    });
    if (!allowed) {
      throw unavailable(list(ranks) + " of " + std::to_string(guests.size()) +
                        " would run on one GPU (" + identity + ") of host " +
                        guests[static_cast<std::size_t>(ranks.front())].host +
                        "; make a GPU visible for each rank, start fewer ranks, or ask for it by "
                        "--share-gpu");
    }
  }
  return shared;
}

}  // namespace

DpGroup::DpGroup(const DpPlace& place, DpStore store, RankWatch* watch)
    : place_(place),
      store_(std::move(store)),
      watch_(watch),
      answers_(static_cast<std::size_t>(place.world_size), true) {}

std::optional<std::string> DpGroup::ended(int rank) const {
  return watch_ != nullptr ? watch_->ended(rank) : std::nullopt;
}

int DpGroup::ranks_on_this_host() const {
  return static_cast<int>(
      std::count(hosts_.begin(), hosts_.end(), hosts_[static_cast<std::size_t>(place_.rank)]));
}

std::optional<int> DpGroup::meet(const DpIntroduction& self) {
  self_ = self;
  store_.set(key("hello", place_.rank),
             bytes_of({{"host", self.host},
                       {"version", self.version},
                       {"device", self.device.is_cpu() ? "cpu" : "cuda"},
                       {"identity", device_identity(self.device)},
                       {"target", resolved(store_.address().host)},
                       {"shares", self.sharing == GpuSharing::allowed},
                       {"refusal",
                        static_cast<int>(self.refusal ? self.refusal->kind() : ErrorKind::peer)},
                       {"why", self.refusal ? self.refusal->message() : ""}}));
  return leads() ? meet_as_leader() : meet_as_follower();
}

std::optional<int> DpGroup::meet_as_leader() {
  std::vector<Guest> guests(answers_.size());
  std::vector<bool> arrived(answers_.size());
  std::vector<int> missing;
  const auto until = Clock::now() + timeout();
  do {
    missing.clear();
    for (int r = 0; r < place_.world_size; ++r) {
      const auto index = static_cast<std::size_t>(r);
      if (arrived[index]) continue;
      if (const auto hello = store_.find(key("hello", r))) {
        guests[index] = guest_of(*hello);
        arrived[index] = true;
      } else if (const auto end = ended(r)) {
        throw Error(ErrorKind::peer, "dp",
                    "rank " + std::to_string(r) + " " + *end + " before the ranks had met");
      } else {
        missing.push_back(r);
      }
    }
    if (!missing.empty()) std::this_thread::sleep_for(poll);
  } while (!missing.empty() && Clock::now() < until);
  if (!missing.empty()) {
    for (const int rank : missing) give_up(rank);
    throw Error(ErrorKind::peer, "dp",
                list(missing) + " of " + std::to_string(place_.world_size) +
                    " did not come within " + std::to_string(timeout().count() / 1000) + " s");
  }
  for (std::size_t r = 0; r < guests.size(); ++r) {
    if (guests[r].refusal) {
      throw Error(*guests[r].refusal, "rank " + std::to_string(r), guests[r].why);
    }
  }
  const bool shared = check_devices(guests);
  backend_ = self_.device.is_cpu() || shared ? DpBackend::gloo : DpBackend::nccl;
  for (const Guest& guest : guests) {
    hosts_.push_back(guest.host);
    // Rank 0's own name may stand for its loopback on its own host.
    if (meeting_address_.empty() || is_loopback(meeting_address_)) meeting_address_ = guest.target;
  }
  store_.set("table", bytes_of({{"hosts", hosts_},
                                {"address", meeting_address_},
                                {"backend", static_cast<int>(backend_)}}));
  return std::nullopt;
}

std::optional<int> DpGroup::meet_as_follower() {
  const auto until = Clock::now() + timeout();
  while (Clock::now() < until) {
    if (const auto code = verdict()) return code;
    if (const auto table = store_.find("table")) {
      const Json json = Json::from_msgpack(*table);
      hosts_ = json.at("hosts").get<std::vector<std::string>>();
      meeting_address_ = json.at("address").get<std::string>();
      backend_ = static_cast<DpBackend>(json.at("backend").get<int>());
      return std::nullopt;
    }
    std::this_thread::sleep_for(poll);
  }
  throw Error(ErrorKind::peer, "dp",
              "rank 0 at " + store_.address().host + " did not gather the ranks within " +
                  std::to_string(timeout().count() / 1000) + " s");
}

void DpGroup::connect() {
  if (place_.world_size == 1) return;
  DpLinkOptions options;
  options.rank = place_.rank;
  options.world_size = place_.world_size;
  options.store = store_.address();
  options.store.role = DpStoreRole::client;
  options.address = address_towards(meeting_address_, store_.port());
  options.device = self_.device;
  options.timeout = timeout();
  link_ = make_link(backend_, options);
}

void DpGroup::finish(int exit_code) {
  store_.set("verdict", std::to_string(exit_code));
  const auto until = Clock::now() + std::min<Clock::duration>(farewell, timeout());
  for (int r = 1; r < place_.world_size; ++r) {
    if (!answers_[static_cast<std::size_t>(r)]) continue;
    while (!store_.find(key("bye", r)) && !ended(r) && Clock::now() < until) {
      std::this_thread::sleep_for(poll);
    }
  }
}

std::optional<int> DpGroup::verdict() {
  const auto code = store_.find("verdict");
  if (!code) return std::nullopt;
  store_.set(key("bye", place_.rank), "");
  return std::stoi(*code);
}

}  // namespace vtower
