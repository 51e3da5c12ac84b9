// Names as users write them: case, '-', '_' and '.' do not count, and a typing mistake gets the nearest valid name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quasar {

// "Layerwise-Percentile" -> "layerwisepercentile".
std::string normalized(std::string_view name);

// The candidate with the least edit distance to `name` (after normalization); "" when nothing is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" or "" : the end of an error message about an unknown name.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

// "a, b, c".
std::string joined(const std::vector<std::string>& names, std::string_view separator = ", ");

}  // namespace quasar
