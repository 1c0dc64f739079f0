// Owned bytes without initialisation: what is decoded into a buffer overwrites all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace vtower {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  explicit ByteBuffer(std::size_t size)
      : bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(size)), size_(size) {}

  [[nodiscard]] std::uint8_t* data() noexcept { return bytes_.get(); }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::uint8_t> span() const noexcept { return {data(), size_}; }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace vtower
