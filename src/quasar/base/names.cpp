#include "quasar/base/names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace quasar {
namespace {

constexpr size_t few = 10;  // all are named
constexpr size_t most_near = 5;

// Insertions, deletions, substitutions, and two neighbours exchanged, each at most once in a place (optimal string alignment:
// Damerau 1964).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

size_t common_prefix(const std::string& a, const std::string& b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(end - a.begin());
}

// How far a name is from what was wanted: the smaller, the nearer. The beginning of a name is as near as one mistake, another
// part of it as two; a name and more is never too far. Of names that are equally far those are nearer that hold the same letters,
// then those that begin alike, then those of the same length.
using Farness = std::tuple<size_t, size_t, size_t, size_t>;

size_t common_letters(std::string a, std::string b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::string both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both.size();
}

// `most`: what is not too far.
Farness farness(const std::string& wanted, const std::string& offered, size_t most) {
  size_t distance = edit_distance(wanted, offered);
  if (wanted.size() <= 3 && distance > 1) distance = most + 1;  // foo is not meant to be O1
  if (wanted.size() >= 3 && offered.find(wanted) != std::string::npos)
    distance = std::min<size_t>(distance, offered.starts_with(wanted) ? 1 : 2);
  if (wanted.size() >= 3 && wanted.find(offered) != std::string::npos) distance = std::min(distance, most);
  const size_t longer = std::max(wanted.size(), offered.size());
  return {distance, longer - common_letters(wanted, offered), longer - common_prefix(wanted, offered),
          longer - std::min(wanted.size(), offered.size())};
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

std::string last_word(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = normalized(name);
  std::string best;
  // Half of it may be wrong, but of two or three letters not all.
  const size_t most = std::max<size_t>(1, std::min(std::max<size_t>(2, wanted.size() / 2), wanted.size() - 1));
  Farness least{wanted.empty() ? 0 : most + 1, 0, 0, 0};
  for (const auto& candidate : candidates) {
    const Farness far = farness(wanted, normalized(candidate), most);
    if (far >= least) continue;
    least = far;
    best = candidate;
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

std::string known_names(std::string_view name, std::vector<std::string> candidates) {
  const std::string begin = did_you_mean(name, candidates) + "; known: ";
  if (candidates.size() <= few) return begin + joined(candidates);
  std::vector<std::string> near;
  while (near.size() < most_near) {
    std::string next = nearest(name, candidates);
    if (next.empty() && !near.empty()) break;
    if (next.empty()) next = candidates.front();
    std::erase(candidates, next);
    near.push_back(std::move(next));
  }
  return begin + joined(near) + " and " + std::to_string(candidates.size()) + " more";
}

std::string some_names(std::string_view name, std::vector<std::string> names) {
  const std::string near = nearest(name, names);
  std::ranges::stable_partition(names, [&](const std::string& one) { return one == near; });
  const std::string more = names.size() > few ? " and " + std::to_string(names.size() - few) + " more" : "";
  names.resize(std::min(names.size(), few));
  return "'" + joined(names, "', '") + "'" + more;
}

}  // namespace quasar
