// The key-value store by which ranks find each other and pass small messages: c10d's TCPStore.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace vtower {

enum class DpStoreRole { server, client };

struct DpStoreAddress {
  std::string host;        // as clients reach it
  std::uint16_t port = 0;  // 0, for a server: one that is free
  DpStoreRole role = DpStoreRole::client;
  std::string prefix;  // of all keys: tells one start of a job from the next
};

// No call waits longer than the timeout, whatever the other side does: Error{peer} then, and when
// the connection breaks. Values of any size (c10d's limit is 8 MiB). Not thread-safe.
class DpStore {
 public:
  // Throws Error{mode_unavailable} where a server cannot listen (a busy port), Error{peer} where a
  // client reaches none in time.
  DpStore(const DpStoreAddress& address, std::chrono::milliseconds timeout);
  ~DpStore();
  DpStore(DpStore&&) noexcept;
  DpStore& operator=(DpStore&&) noexcept;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] const DpStoreAddress& address() const noexcept;
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept;

  // Others may see it a little later.
  void set(const std::string& key, const std::string& value);
  // Empty where nobody has set the key yet.
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  // The same, and the key is gone.
  [[nodiscard]] std::optional<std::string> take(const std::string& key);
  // Adds to a counter (0 before the first) and returns its new value.
  std::int64_t add(const std::string& key, std::int64_t count);

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

// The address of this host on its way to the store: what other ranks can reach.
// Throws Error{peer} where the name does not resolve or no route exists.
std::string address_towards(const std::string& host, std::uint16_t port);
// The numeric address that the name of a host stands for; the first one.
std::string resolved(const std::string& host);
[[nodiscard]] bool is_loopback(const std::string& numeric) noexcept;

}  // namespace vtower
