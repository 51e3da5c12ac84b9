#include "quasar/base/known_names.hpp"

#include <algorithm>

#include "quasar/base/names.hpp"

namespace quasar {
namespace {

constexpr size_t few = 10;  // all are named
constexpr size_t most_near = 5;

}  // namespace

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
