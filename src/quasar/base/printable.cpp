#include "quasar/base/printable.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace quasar {
namespace {

// The character that begins there, if it is one of those that steer, and its length in bytes.
std::optional<uint32_t> steering_at(std::string_view text, size_t i, size_t& length) {
  const auto at = [&](size_t k) { return k < text.size() ? static_cast<uint8_t>(text[k]) : uint8_t{0}; };
  const uint8_t first = at(i);
  length = 1;
  if ((first < 0x20 && first != '\n' && first != '\t') || first == 0x7F) return first;
  if (first == 0xC2 && at(i + 1) >= 0x80 && at(i + 1) <= 0x9F) {
    length = 2;
    return at(i + 1);
  }
  if (first != 0xE2) return std::nullopt;
  const uint32_t code = 0x2000U | (at(i + 1) & 0x3FU) << 6 | (at(i + 2) & 0x3FU);
  length = 3;
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return turns ? std::optional(code) : std::nullopt;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    const auto code = steering_at(text, i, length);
    if (!code) {
      out += text[i++];
      continue;
    }
    char shown[16];
    std::snprintf(shown, sizeof(shown), *code > 0xFF ? "\\u%04x" : "\\x%02x", *code);
    out += shown;
    i += length;
  }
  return out;
}

std::string printable_message(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (!out.empty() && out.back() == '\n' && c != ' ' && c != '\n') out += "  ";
    out += c;
  }
  return out;
}

std::string printable_name(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\n' || c == '\t') {
      out += c == '\n' ? "\\n" : "\\t";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace quasar
