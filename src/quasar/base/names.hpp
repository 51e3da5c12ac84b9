// Names as users write them, and what a message about an unknown one says: case, '-', '_' and '.' do not count, and a typing
// mistake gets the nearest valid name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quasar/base/api.hpp"

namespace quasar {

// "Layerwise-Percentile" -> "layerwisepercentile".
QUASAR_API std::string normalized(std::string_view name);

// "PowerOfTwoMethod.MinMSE" -> "MinMSE".
std::string last_word(const std::string& name);

// The candidate with the least edit distance to `name` (after normalization); "" when nothing is near.
QUASAR_API std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" or "" : the end of an error message about an unknown name.
QUASAR_API std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

// "a, b, c".
QUASAR_API std::string joined(const std::vector<std::string>& names, std::string_view separator = ", ");

// "; did you mean 'x'?; known: x, y, z": all names where they are few, else those that are near (some, where none is) and how
// many there are besides.
QUASAR_API std::string known_names(std::string_view name, std::vector<std::string> candidates);

// "'x', 'y' and 90 more": ten at most, the nearest first.
QUASAR_API std::string some_names(std::string_view name, std::vector<std::string> names);

}  // namespace quasar
