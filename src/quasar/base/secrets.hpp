// What must not be written where others read it: logs, reports, messages, studies.
#pragma once

#include <string>

#include "quasar/base/json.hpp"

namespace quasar {

// Passwords in addresses, "postgresql://user:secret@host/db" or "…?password=secret", become "***"; all else stays.
std::string without_password(const std::string& text);

// An address without its password altogether, so that it still works where the password comes from elsewhere (PGPASSWORD).
std::string without_login(const std::string& address);

// without_password() for every text in a configuration, and for the values of keys that end with "token" or "password".
Json without_secrets(const Json& words);

}  // namespace quasar
