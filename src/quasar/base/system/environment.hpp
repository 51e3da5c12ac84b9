// Variables of this process' environment, and its rights.
#pragma once

#include <string>

namespace quasar {

// Unless the user has set it. For this process and those that it starts.
void set_unless_set(const std::string& variable, const std::string& value);

// Whether this process may do anything (root); false on Windows.
bool is_superuser();

}  // namespace quasar
