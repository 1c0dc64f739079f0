#include "engine/dp_store.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "engine/dp_c10d.h"

namespace vtower {
namespace {

constexpr std::size_t piece_bytes = 4 << 20;  // TCPStore's server drops who sends more than 8 MiB

std::string place(const DpStoreAddress& address) {
  return address.host + ":" + std::to_string(address.port);
}

Error lost(const DpStoreAddress& address, const std::string& why) {
  return {ErrorKind::peer, "dp", "rank 0 at " + place(address) + ": " + why};
}

c10::intrusive_ptr<c10d::TCPStore> open(const DpStoreAddress& address,
                                        std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = address.port;
  options.isServer = address.role == DpStoreRole::server;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(address.host, options);
  } catch (const std::exception& error) {
    if (!options.isServer) throw lost(address, "no connection: " + first_line(error));
    throw Error(ErrorKind::mode_unavailable, "dp",
                "rank 0 cannot listen on port " + std::to_string(address.port) +
                    " (in use by another program or job?): " + first_line(error));
  }
}

struct AddressList {
  explicit AddressList(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
    if (code != 0 || first == nullptr) {
      throw Error(
          ErrorKind::peer, "dp",
          "the name of rank 0's host, " + host + ", does not resolve: " + ::gai_strerror(code));
    }
  }
  ~AddressList() { ::freeaddrinfo(first); }
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  addrinfo* first = nullptr;
};

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  return text;
}

}  // namespace

// All calls run on a thread of their own: c10d waits for a host that has stopped answering without
// any limit, so the caller waits here, and leaves the thread behind when time is up.
class DpStore::Thread {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> calls;
    bool closed = false;
    c10::intrusive_ptr<c10d::TCPStore> store;

    void serve() {
      std::unique_lock lock(mutex);
      while (true) {
        changed.wait(lock, [&] { return closed || !calls.empty(); });
        if (calls.empty()) return;
        const auto next = std::move(calls.front());
        calls.pop_front();
        lock.unlock();
        next();
        lock.lock();
      }
    }
  };

  template <typename Operation>
  auto call(std::chrono::milliseconds limit, Operation operation) {
    using Result = decltype(operation(*state_));
    if (broken_) throw lost(address_, "the connection is broken");
    auto task = std::make_shared<std::packaged_task<Result()>>(
        [state = state_.get(), operation = std::move(operation)] { return operation(*state); });
    auto result = task->get_future();
    {
      const std::scoped_lock lock(state_->mutex);
      state_->calls.emplace_back([task] { (*task)(); });
      state_->changed.notify_one();
    }
    // The second look is for a process that was stopped meanwhile, its answer waiting.
    if (result.wait_for(limit) != std::future_status::ready &&
        result.wait_for(std::chrono::seconds(1)) != std::future_status::ready) {
      broken_ = true;
      throw lost(address_, "no answer within " + std::to_string(limit.count() / 1000) + " s");
    }
    try {
      return result.get();
    } catch (const Error&) {
      broken_ = true;
      throw;
    } catch (const std::exception& error) {
      broken_ = true;
      throw lost(address_, first_line(error));
    }
  }

 public:
  Thread(const DpStoreAddress& address, std::chrono::milliseconds timeout)
      : address_(address), timeout_(timeout), state_(std::make_shared<State>()) {
    std::thread([state = state_] { state->serve(); }).detach();
    // c10d observes the limit itself here; a server of another kind may not.
    call(timeout + std::chrono::seconds(2),
         [address, timeout](State& state) { state.store = open(address, timeout); });
    address_.port = call(timeout, [](State& state) { return state.store->getPort(); });
  }
  ~Thread() {
    if (broken_) return;
    try {  // a server's port is free again when this returns
      call(timeout_, [](State& state) { state.store.reset(); });
    } catch (const std::exception&) {
    }
    const std::scoped_lock lock(state_->mutex);
    state_->closed = true;
    state_->changed.notify_one();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  template <typename Operation>
  auto call(Operation operation) {
    return call(timeout_, std::move(operation));
  }
  [[nodiscard]] const DpStoreAddress& address() const noexcept { return address_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  [[nodiscard]] std::string key(const std::string& name) const { return address_.prefix + name; }

 private:
  DpStoreAddress address_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<State> state_;
  bool broken_ = false;
};

DpStore::DpStore(const DpStoreAddress& address, std::chrono::milliseconds timeout)
    : thread_(std::make_unique<Thread>(address, timeout)) {}
DpStore::~DpStore() = default;
DpStore::DpStore(DpStore&&) noexcept = default;
DpStore& DpStore::operator=(DpStore&&) noexcept = default;

std::uint16_t DpStore::port() const noexcept {
  return thread_->address().port;
}
const DpStoreAddress& DpStore::address() const noexcept {
  return thread_->address();
}
std::chrono::milliseconds DpStore::timeout() const noexcept {
  return thread_->timeout();
}

void DpStore::set(const std::string& key, const std::string& value) {
  const std::string name = thread_->key(key);
  const std::size_t pieces = value.size() / piece_bytes + 1;
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::string piece = value.substr(i * piece_bytes, piece_bytes);
    thread_->call([part = name + "#" + std::to_string(i),
                   bytes = std::vector<std::uint8_t>(piece.begin(), piece.end())](auto& state) {
      state.store->set(part, bytes);
    });
  }
  // last, so that who finds it finds all pieces
  thread_->call([name, count = std::to_string(pieces)](auto& state) {
    state.store->set(name, std::vector<std::uint8_t>(count.begin(), count.end()));
  });
}

std::optional<std::string> DpStore::find(const std::string& key) {
  const std::string name = thread_->key(key);
  return thread_->call([name](auto& state) -> std::optional<std::string> {
    if (!state.store->check({name})) return std::nullopt;
    const auto text = state.store->get(name);
    const std::size_t pieces = std::stoul(std::string(text.begin(), text.end()));
    std::string value;
    for (std::size_t i = 0; i < pieces; ++i) {
      const auto piece = state.store->get(name + "#" + std::to_string(i));
      value.append(piece.begin(), piece.end());
    }
    return value;
  });
}

std::optional<std::string> DpStore::take(const std::string& key) {
  auto value = find(key);
  if (!value) return value;
  const std::string name = thread_->key(key);
  const std::size_t pieces = value->size() / piece_bytes + 1;
  thread_->call([name, pieces](auto& state) {
    state.store->deleteKey(name);
    for (std::size_t i = 0; i < pieces; ++i) state.store->deleteKey(name + "#" + std::to_string(i));
  });
  return value;
}

std::int64_t DpStore::add(const std::string& key, std::int64_t count) {
  return thread_->call(
      [name = thread_->key(key), count](auto& state) { return state.store->add(name, count); });
}

std::string address_towards(const std::string& host, std::uint16_t port) {
  const AddressList list(host, port);
  for (const addrinfo* entry = list.first; entry != nullptr; entry = entry->ai_next) {
    const int socket = ::socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    // connecting a datagram socket sends nothing: it asks the routing table
    const bool found = ::connect(socket, entry->ai_addr, entry->ai_addrlen) == 0 &&
                       ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0;
    ::close(socket);
    if (found) return numeric(reinterpret_cast<const sockaddr*>(&own), length);
  }
  throw Error(ErrorKind::peer, "dp", "no route from here to rank 0 at " + host);
}

std::string resolved(const std::string& host) {
  const AddressList list(host, 0);
  return numeric(list.first->ai_addr, list.first->ai_addrlen);
}

bool is_loopback(const std::string& numeric) noexcept {
  return numeric.starts_with("127.") || numeric == "::1";
}

}  // namespace vtower
