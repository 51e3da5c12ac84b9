#include "quasar/base/digits.hpp"

#include <cstdio>

namespace quasar {

std::string in_digits(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

std::string formatted(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

}  // namespace quasar
