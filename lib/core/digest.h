// Digests: SHA-256 where a reader may want to check with common tools, XXH3 where speed matters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace vtower {

// Lower-case hex of the SHA-256 of the bytes.
std::string sha256_hex(std::span<const std::uint8_t> bytes);

// Incremental SHA-256 (OpenSSL's EVP). Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::span<const std::uint8_t> bytes);
  [[nodiscard]] std::string hex() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lower-case hex of the 128-bit XXH3 of the bytes.
std::string xxh3_hex(std::span<const std::uint8_t> bytes);

}  // namespace vtower
