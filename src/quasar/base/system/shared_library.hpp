// Libraries that are loaded while the program runs.
#pragma once

#include <string>

namespace quasar {

// A path, or a name that the system's loader looks for. nullptr: it cannot be loaded, and `why` says why in the system's words.
// It stays loaded until it has been closed as often as opened.
void* open_library(const std::string& file, std::string& why);
void close_library(void* library);

// nullptr: it has no such function, or variable.
void* find_in_library(void* library, const std::string& name);

}  // namespace quasar
