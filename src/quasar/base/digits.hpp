// Numbers as messages and tables show them.
#pragma once

#include <string>

namespace quasar {

// With so many significant digits, without zeros at the end: in_digits(1234.5) is "1.23e+03", in_digits(0.25) "0.25"; "nan",
// "inf".
std::string in_digits(double value, int digits = 3);

// The same without an exponent for what is large: plain_digits(12345.6, 4) is "12346".
std::string plain_digits(double value, int digits = 3);

// For people: "102 MB", "93 KB"; "0.35 s", "20.6 min", "3 h".
std::string bytes_in_words(double bytes);
std::string seconds_in_words(double seconds);

// The unit in which so many bytes are told, and how many of them it has: {"KB", 1e3}.
struct ByteUnit {
  const char* name;
  double bytes;
};
ByteUnit unit_of_bytes(double bytes);

// As printf writes it: formatted("%.1f s", 2.25) is "2.2 s".
std::string formatted(const char* form, double value);

}  // namespace quasar
