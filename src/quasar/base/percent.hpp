// Texts in addresses, where characters with a meaning of their own stand as "%40".
#pragma once

#include <string>

namespace quasar {

// Every byte but ASCII letters and digits as %XX.
std::string encoded(const std::string& text);

// The inverse; a '%' that no two hexadecimal digits follow stays.
std::string decoded(const std::string& text);

}  // namespace quasar
