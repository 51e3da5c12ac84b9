#include "quasar/runtime/user_cache.hpp"

#include <cstdlib>

namespace quasar::runtime {

std::filesystem::path user_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return cache;
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? std::filesystem::path() : std::filesystem::path(home) / ".cache";
}

}  // namespace quasar::runtime
