#include "quasar/base/percent.hpp"

#include <cctype>

namespace quasar {

std::string encoded(const std::string& text) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 128) {
      out += c;
    } else {
      out += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return out;
}

std::string decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const bool code = text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                      std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    out += code ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
    if (code) i += 2;
  }
  return out;
}

}  // namespace quasar
