#include "cli/html_text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace vtower::cli {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Bytes of the well-formed UTF-8 sequence at the front of `text`; 0 where there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong form
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;  // no surrogate
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string printed(const char* format, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text.front();
    const bool control =
        (first >= 0 && first < ' ' && first != '\n' && first != '\t') || first == 127;
    if (length == 0 || control) {
      html += replacement;
    } else if (first == '&') {
      html += "&amp;";
    } else if (first == '<') {
      html += "&lt;";
    } else if (first == '>') {
      html += "&gt;";
    } else if (first == '"') {
      html += "&quot;";
    } else if (first == '\'') {
      html += "&#39;";
    } else {
      html += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return html;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? bytes[i + j] : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::string html_number(double value) {
  if (std::isnan(value)) return "not finite";
  if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
  std::string text = printed("%.3g", value);
  // "1.1e-06" as "1.1e-6"
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  const bool negative = text[e + 1] == '-';
  std::size_t digit = e + 2;
  while (digit + 1 < text.size() && text[digit] == '0') ++digit;
  return text.substr(0, e + 1) + (negative ? "-" : "") + text.substr(digit);
}

std::string html_share(double share) {
  if (!std::isfinite(share)) return html_number(share);
  return share < 10 ? printed("%.2g", 100 * share).find('e') == std::string::npos
                          ? printed("%.2g", 100 * share) + " %"
                          : printed("%.0f", 100 * share) + " %"
                    : html_number(share) + " ×";
}

std::string html_tag(std::string_view name, std::string_view content, std::string_view attributes) {
  std::string html = "<" + std::string(name);
  if (!attributes.empty()) html.append(" ").append(attributes);
  return html.append(">").append(content).append("</").append(name).append(">");
}

}  // namespace vtower::cli
