// What the library has to say goes to a listener; it never prints.
#pragma once

#include <functional>
#include <string>

namespace quasar {

enum class Level { debug, info, warning, error };

// Must be callable from several threads at once. An empty function means: nobody listens.
using Log = std::function<void(Level, const std::string&)>;

inline void tell(const Log& log, Level level, const std::string& text) {
  if (log) log(level, text);
}

}  // namespace quasar
