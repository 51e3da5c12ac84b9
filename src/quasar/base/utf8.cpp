#include "quasar/base/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace quasar {
namespace {

// Of the character that a byte begins; 0: none begins so.
size_t length_of(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

// Where the second byte is bound further than to 0x80 … 0xBF.
bool is_second(uint8_t first, uint8_t second) {
  if (first == 0xE0) return second >= 0xA0;
  if (first == 0xED) return second <= 0x9F;  // surrogates
  if (first == 0xF0) return second >= 0x90;
  return first != 0xF4 || second <= 0x8F;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t i = 0, length = 0; i < text.size(); i += length) {
    length = length_of(at(i));
    if (length == 0 || length > text.size() - i) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return false;
    }
    if (length > 1 && !is_second(at(i), at(i + 1))) return false;
  }
  return true;
}

}  // namespace quasar
