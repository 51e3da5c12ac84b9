// Passwords for databases that Quasar sets up.
#pragma once

#include <string>

namespace quasar::cli {

// 24 letters and digits from the system's source of chance: 142 bits, and nothing that an address or a shell would need to quote.
std::string new_password();

}  // namespace quasar::cli
