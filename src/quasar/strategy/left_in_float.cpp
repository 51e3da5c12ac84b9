#include "quasar/strategy/left_in_float.hpp"

#include <algorithm>
#include <set>

#include "quasar/job/precision.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/config/recipes.hpp"

namespace quasar::tune {
namespace {

// A named configuration may switch recipes off as well; what is given beside it comes before.
std::set<std::string> recipes_off_at(const search::Space& space, const search::Point& point) {
  Json words = space.decode(point);
  const Json scheme = words.value("scheme", Json());
  if (!scheme.is_string()) return quant::recipes_off(words);
  const Json named = quant::words_of_scheme(scheme.get<std::string>());
  for (const auto& key : quant::recipe_keys()) {
    if (!words.contains(key) && named.contains(key)) words[key] = named[key];
  }
  return quant::recipes_off(words);
}

}  // namespace

LeftInFloat::LeftInFloat(const graph::Model& model, const std::vector<std::string>& nodes) : index_(model) {
  std::string why;
  for (const auto& name : nodes) {
    const graph::Node* node = index_.node(name);
    if (node == nullptr) continue;
    if (auto roles = ops::roles_of(*node, model, why)) roles_[name] = std::move(*roles);
  }
}

std::map<std::string, std::string> LeftInFloat::by_recipes(const search::Space& space, const search::Point& point) const {
  std::map<std::string, std::string> out;
  const auto off = recipes_off_at(space, point);
  if (off.empty()) return out;
  std::map<std::string, ops::Roles> candidates = roles_;
  std::erase_if(candidates, [&](const auto& entry) { return precision_at(point, entry.first) == in_float; });
  for (const auto& recipe : off) {
    for (const auto& node : quant::left_by_recipes({recipe}, index_, candidates)) out.emplace(node, recipe);
  }
  return out;
}

std::vector<std::string> LeftInFloat::nodes(const search::Space& space, const search::Point& point) const {
  std::vector<std::string> out = float_nodes(point);
  for (const auto& [node, recipe] : by_recipes(space, point)) {
    if (std::ranges::find(out, node) == out.end()) out.push_back(node);
  }
  return out;
}

double LeftInFloat::given_up(const search::Space& space, const search::Point& point) const {
  double sum = tune::given_up(point);
  for (const auto& [node, recipe] : by_recipes(space, point)) {
    sum += 1 - tune::given_up(search::Point{{precision_of(node), precision_at(point, node)}});
  }
  return sum;
}

}  // namespace quasar::tune
