#include "media/gif_lzw.h"

#include <array>
#include <cassert>

#include "core/error.h"

namespace vtower {
namespace {

constexpr int longest_code = 12;
constexpr int table_size = 1 << longest_code;

[[noreturn]] void refuse_code(int code) {
  throw Error(ErrorKind::unreadable, "gif",
              "LZW code " + std::to_string(code) + " refers to nothing: the data are damaged");
}

// Codes, least significant bit first.
class CodeReader {
 public:
  explicit CodeReader(std::span<const std::uint8_t> data) : data_(data) {}

  int next(int size) {
    while (bit_count_ < size) {
      if (position_ == data_.size()) {
        throw Error(ErrorKind::truncated, "gif", "the data end before the frame does");
      }
      bits_ |= std::uint32_t{data_[position_++]} << bit_count_;
      bit_count_ += 8;
    }
    const auto code = static_cast<int>(bits_ & ((1U << size) - 1));
    bits_ >>= size;
    bit_count_ -= size;
    return code;
  }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t position_ = 0;
  std::uint32_t bits_ = 0;
  int bit_count_ = 0;
};

}  // namespace

ByteBuffer gif_lzw_decode(std::span<const std::uint8_t> data, int minimum_code_size,
                          std::size_t count) {
  assert(minimum_code_size >= 1 && minimum_code_size <= 8);
  const int clear = 1 << minimum_code_size;
  const int end = clear + 1;
  // Entry `code` stands for what `prefix[code]` stands for, followed by `last[code]`.
  std::array<std::int16_t, table_size> prefix{};
  std::array<std::uint8_t, table_size> last{};
  std::array<std::uint8_t, table_size> string{};
  ByteBuffer indices(count);
  CodeReader codes(data);
  std::size_t done = 0;
  int size = minimum_code_size + 1;
  int used = end + 1;
  int previous = -1;
  std::uint8_t first = 0;  // index that the previous code's string began with
  while (done < count) {
    const int code = codes.next(size);
    if (code == clear) {
      size = minimum_code_size + 1;
      used = end + 1;
      previous = -1;
      continue;
    }
    if (code == end) {
      throw Error(ErrorKind::truncated, "gif",
                  "the code stream ends after " + std::to_string(done) + " of " +
                      std::to_string(count) + " pixels");
    }
    const bool unfinished = code == used && previous >= 0;  // the entry about to be made
    if (!unfinished && (code >= used || (previous < 0 && code >= clear))) refuse_code(code);
    // The string from its end; an unfinished entry is the previous string and its first index.
    std::size_t length = 0;
    if (unfinished) string[length++] = first;
    int entry = unfinished ? previous : code;
    for (; entry > end; entry = prefix[static_cast<std::size_t>(entry)]) {
      string[length++] = last[static_cast<std::size_t>(entry)];
    }
    first = static_cast<std::uint8_t>(entry);
    string[length++] = first;
    while (length > 0 && done < count) indices.data()[done++] = string[--length];
    if (previous >= 0 && used < table_size) {
      prefix[static_cast<std::size_t>(used)] = static_cast<std::int16_t>(previous);
      last[static_cast<std::size_t>(used)] = first;
      ++used;
      if (used == 1 << size && size < longest_code) ++size;
    }
    previous = code;
  }
  return indices;
}

}  // namespace vtower
