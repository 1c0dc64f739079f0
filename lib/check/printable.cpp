#include "check/printable.h"

#include <algorithm>
#include <cstdint>

namespace vtower {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_continuation(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Bytes of the character that `text` starts with; 0 where it is none.
std::size_t character(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return 0;
  std::uint32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return too_long || surrogate || code > 0x10FFFF ? 0 : bytes;
}

// Where character `index` starts.
std::size_t offset_of(std::string_view text, std::size_t index) noexcept {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!is_continuation(text[at]) && index-- == 0) break;
  }
  return at;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t bytes = character(text);
    valid += bytes == 0 ? replacement : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return valid;
}

std::string printable(std::string_view text) {
  std::string clean = valid_utf8(text);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto c = static_cast<unsigned char>(clean[i]);
    if (c < 0x20 || c == 0x7F) clean[i] = '?';
    // The second set of control characters, U+0080 to U+009F, takes two bytes.
    if (c == 0xC2 && static_cast<unsigned char>(clean[i + 1]) < 0xA0) clean.replace(i, 2, "?");
  }
  return clean;
}

std::size_t length_of(std::string_view text) noexcept {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string shortened(const std::string& text, std::size_t most) {
  const std::size_t length = length_of(text);
  if (length <= most) return text;
  return "..." + text.substr(offset_of(text, length - (most - 3)));
}

std::string wrapped(const std::string& head, const std::string& text, std::size_t width) {
  const std::string indent(length_of(head), ' ');
  const std::size_t room = width - indent.size();
  std::string lines;
  std::string line = head;
  std::size_t used = 0;
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + "\n";
    line = indent;
    used = 0;
  };
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t space = rest.find(' ');
    std::string_view word = rest.substr(0, space);
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
    if (used > 0 && used + 1 + length_of(word) > room) end_line();
    if (used > 0) {
      line += ' ';
      ++used;
    }
    while (length_of(word) > room) {
      const std::size_t cut = offset_of(word, room);
      line += word.substr(0, cut);
      word.remove_prefix(cut);
      end_line();
    }
    line += word;
    used += length_of(word);
  }
  end_line();
  return lines;
}

}  // namespace vtower
