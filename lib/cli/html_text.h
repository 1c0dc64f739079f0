// Text as it may stand in an HTML page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vtower::cli {

// Safe within elements and quoted attributes. Bytes that are no UTF-8 and control characters become
// U+FFFD: file names hold anything.
std::string html_escaped(std::string_view text);

std::string base64(std::span<const std::uint8_t> bytes);

// Three digits: "0.0123", "1.1e-6"; "not finite" for NaN, "∞".
std::string html_number(double value);
// Of a limit: "35 %", "12 ×".
std::string html_share(double share);

// <name attributes>content</name>; `content` is HTML, `attributes` too.
std::string html_tag(std::string_view name, std::string_view content,
                     std::string_view attributes = "");

}  // namespace vtower::cli
