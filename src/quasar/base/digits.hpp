// Numbers as messages and tables show them.
#pragma once

#include <string>

namespace quasar {

// With so many significant digits, without zeros at the end: in_digits(1234.5) is "1.23e+03", in_digits(0.25) "0.25"; "nan",
// "inf".
std::string in_digits(double value, int digits = 3);

// As printf writes it: formatted("%.1f s", 2.25) is "2.2 s".
std::string formatted(const char* form, double value);

}  // namespace quasar
