#include "quasar/base/system/environment.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

#include <cstdlib>

namespace quasar {

void set_unless_set(const std::string& variable, const std::string& value) {
#ifdef _WIN32
  if (std::getenv(variable.c_str()) == nullptr) ::_putenv_s(variable.c_str(), value.c_str());
#else
  ::setenv(variable.c_str(), value.c_str(), 0);
#endif
}

bool is_superuser() {
#ifdef _WIN32
  return false;
#else
  return ::geteuid() == 0;
#endif
}

}  // namespace quasar
