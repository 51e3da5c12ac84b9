#include "quasar/base/names.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace quasar {
namespace {

// Levenshtein's distance: insertions, deletions and substitutions.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string normalized(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = normalized(name);
  std::string best;
  size_t least = std::max<size_t>(2, wanted.size() / 2) + 1;
  for (const auto& candidate : candidates) {
    const std::string offered = normalized(candidate);
    size_t distance = edit_distance(wanted, offered);
    const bool contained =
        wanted.size() >= 3 && (offered.find(wanted) != std::string::npos || wanted.find(offered) != std::string::npos);
    if (contained) distance = std::min<size_t>(distance, 2);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string out;
  for (const auto& name : names) {
    if (!out.empty()) out += separator;
    out += name;
  }
  return out;
}

}  // namespace quasar
