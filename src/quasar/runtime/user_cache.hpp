// Where scripts/setup.sh puts libraries that models can be judged in.
#pragma once

#include <filesystem>

namespace quasar::runtime {

// $XDG_CACHE_HOME, or ~/.cache; empty: neither is known.
std::filesystem::path user_cache();

}  // namespace quasar::runtime
