// The end of a message about an unknown name: what would have been right, the nearest first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quasar {

// "; did you mean 'x'?; known: x, y, z": all names where they are few, else those that are near (some, where none is) and how
// many there are besides.
std::string known_names(std::string_view name, std::vector<std::string> candidates);

// "'x', 'y' and 90 more": ten at most, the nearest first.
std::string some_names(std::string_view name, std::vector<std::string> names);

}  // namespace quasar
