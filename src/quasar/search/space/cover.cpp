// Points that together show everything a space can say, without walking through all of it.
#include <algorithm>

#include "quasar/search/space.hpp"

namespace quasar::search {
namespace {

constexpr size_t most_pairs = 20000;

// All choices; of a range its ends.
std::vector<Json> shown(const Parameter& parameter) {
  if (parameter.pinned) return std::vector<Json>(1, *parameter.pinned);
  if (const auto* list = std::get_if<Categorical>(parameter.distribution.get())) return list->choices;
  if (const auto* range = std::get_if<Integer>(parameter.distribution.get())) {
    if (range->low == range->high) return std::vector<Json>(1, Json(range->low));
    return {Json(range->low), Json(range->high)};
  }
  const Real& range = std::get<Real>(*parameter.distribution);
  if (range.low == range.high) return std::vector<Json>(1, Json(range.low));
  return {Json(range.low), Json(range.high)};
}

// Adds name = value and what its conditions ask for; false: contradicts what is wanted already.
bool require(const Space& space, const std::string& name, const Json& value, std::map<std::string, Json>& wanted) {
  const auto [place, is_new] = wanted.emplace(name, value);
  if (!is_new) return place->second == value;
  const Parameter* parameter = space.find(name);
  if (parameter == nullptr) return false;
  return std::ranges::all_of(parameter->conditions, [&](const Condition& condition) {
    if (const auto known = wanted.find(condition.parent); known != wanted.end()) return condition.allows(known->second);
    const std::vector<Json> choices = condition.values.empty() ? shown(*space.find(condition.parent)) : condition.values;
    return std::ranges::any_of(choices, [&](const Json& choice) {
      std::map<std::string, Json> more = wanted;
      if (!condition.allows(choice) || !require(space, condition.parent, choice, more)) return false;
      wanted = std::move(more);
      return true;
    });
  });
}

}  // namespace

std::optional<Point> Space::with(const std::map<std::string, Json>& values, Rng& rng) const {
  std::map<std::string, Json> wanted;
  for (const auto& [name, value] : values) {
    if (!require(*this, name, value, wanted)) return std::nullopt;
  }
  Point drawn = sample(rng), out;
  for (const Parameter& p : parameters_) {
    if (!is_active(p, out)) continue;
    if (const auto known = wanted.find(p.name); known != wanted.end()) {
      out.set(p.name, known->second);
    } else if (const Json* value = drawn.find(p.name)) {
      out.set(p.name, *value);
    } else {
      const std::vector<Json> choices = shown(p);
      out.set(p.name, choices[rng.below(choices.size())]);
    }
  }
  return out;
}

std::vector<Point> Space::cover() const {
  std::vector<std::vector<Json>> values;
  size_t singles = 0, pairs = 0;
  for (const Parameter& p : parameters_) {
    values.push_back(shown(p));
    pairs += singles * values.back().size();
    singles += values.back().size();
  }
  Rng rng(0);
  std::vector<Point> out;
  const auto add = [&](const std::map<std::string, Json>& wanted) {
    if (auto point = with(wanted, rng)) out.push_back(std::move(*point));
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    for (const Json& a : values[i]) {
      add({{parameters_[i].name, a}});
      for (size_t j = 0; pairs <= most_pairs && j < i; ++j) {
        for (const Json& b : values[j]) add({{parameters_[i].name, a}, {parameters_[j].name, b}});
      }
    }
  }
  return out;
}

}  // namespace quasar::search
