#include "quasar/base/digits.hpp"

#include <cmath>
#include <cstdio>

namespace quasar {

std::string in_digits(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

std::string plain_digits(double value, int digits) {
  const double size = std::abs(value);
  return size >= std::pow(10, digits) - 0.5 && size < 1e15 ? formatted("%.0f", value) : in_digits(value, digits);
}

ByteUnit unit_of_bytes(double bytes) {
  const double size = std::abs(bytes);
  if (size >= 1e9) return {"GB", 1e9};
  return size >= 1e6 ? ByteUnit{"MB", 1e6} : ByteUnit{"KB", 1e3};
}

std::string bytes_in_words(double bytes) {
  const ByteUnit unit = unit_of_bytes(bytes);
  return plain_digits(bytes / unit.bytes) + " " + unit.name;
}

std::string seconds_in_words(double seconds) {
  if (seconds < 120) return plain_digits(seconds) + " s";
  return seconds < 7200 ? plain_digits(seconds / 60) + " min" : plain_digits(seconds / 3600) + " h";
}

std::string formatted(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

}  // namespace quasar
