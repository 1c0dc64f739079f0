// Text from files and file names, made fit for terminals, JSON and XML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vtower {

// Bytes that are no UTF-8 become U+FFFD, one for each.
std::string valid_utf8(std::string_view text);

// The same, and control characters, which a terminal would obey, become "?".
std::string printable(std::string_view text);

// Characters of valid UTF-8.
std::size_t length_of(std::string_view text) noexcept;

// The text's last characters behind "...", where it has more than `most`.
std::string shortened(const std::string& text, std::size_t most);

// Broken into lines of at most `width` characters, between words where that can be done. The first
// line starts with `head`, the others with as many spaces; each ends with a newline.
std::string wrapped(const std::string& head, const std::string& text, std::size_t width);

}  // namespace vtower
