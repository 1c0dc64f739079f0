// Bounded reading of binary headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace vtower {

enum class ByteOrder { little, big };

// Reads forward through `bytes`. Every call throws Error{truncated} rather than pass the end.
class ByteReader {
 public:
  ByteReader(std::span<const std::uint8_t> bytes, ByteOrder order, std::string_view context)
      : bytes_(bytes), order_(order), context_(context) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - position_; }

  void seek(std::size_t position) {
    if (position > bytes_.size()) refuse(position - bytes_.size());
    position_ = position;
  }

  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > remaining()) refuse(count - remaining());
    position_ += count;
    return bytes_.subspan(position_ - count, count);
  }

  std::uint8_t u8() { return take(1)[0]; }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(take(2))); }
  std::uint32_t u32() { return number(take(4)); }

 private:
  [[nodiscard]] std::uint32_t number(std::span<const std::uint8_t> digits) const noexcept {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const std::size_t at = order_ == ByteOrder::big ? i : digits.size() - 1 - i;
      value = value << 8 | digits[at];
    }
    return value;
  }

  [[noreturn]] void refuse(std::size_t missing) const {
    throw Error(ErrorKind::truncated, std::string(context_),
                "the file ends " + std::to_string(missing) + " bytes before what it announces");
  }

  std::span<const std::uint8_t> bytes_;
  ByteOrder order_;
  std::string_view context_;
  std::size_t position_ = 0;
};

}  // namespace vtower
