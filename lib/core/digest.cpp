#include "core/digest.h"

#include <openssl/evp.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <new>

namespace vtower {
namespace {

std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) {
      throw std::bad_alloc();
    }
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::uint8_t> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256::hex() && {
  std::array<std::uint8_t, 32> digest{};
  EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  return vtower::hex(digest);
}

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  Sha256 digest;
  digest.update(bytes);
  return std::move(digest).hex();
}

std::string xxh3_hex(std::span<const std::uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return hex({canonical.digest, sizeof(canonical.digest)});
}

}  // namespace vtower
