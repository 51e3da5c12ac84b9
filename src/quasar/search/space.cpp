#include "quasar/search/space.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::search {
namespace {

// The value as the distribution writes it: 3.0 is 3 for a whole number, "minmax" is "MinMax" where that is the choice.
std::optional<Json> admitted(const Distribution& distribution, const Json& value) {
  if (const auto position = position_of(distribution, value)) return value_at(distribution, *position);
  if (contains(distribution, value)) return value.get<double>();
  const auto* list = std::get_if<Categorical>(&distribution);
  if (list == nullptr || !value.is_string()) return std::nullopt;
  for (const Json& choice : list->choices) {
    if (choice.is_string() && normalized(choice.get<std::string>()) == normalized(value.get<std::string>())) return choice;
  }
  return std::nullopt;
}

std::string described(const Distribution& distribution) {
  if (const auto* list = std::get_if<Categorical>(&distribution)) return "one of " + Json(list->choices).dump();
  const auto range = [](auto low, auto high) { return "from " + Json(low).dump() + " to " + Json(high).dump(); };
  if (const auto* d = std::get_if<Integer>(&distribution)) {
    return "a whole number " + range(d->low, d->high) + (d->step > 1 ? " in steps of " + std::to_string(d->step) : "");
  }
  const Real& d = std::get<Real>(distribution);
  return "a number " + range(d.low, d.high) + (d.step ? " in steps of " + Json(*d.step).dump() : "");
}

Json admitted_or_throw(const Parameter& parameter, const Json& value) {
  const Distribution allowed =
      parameter.pinned ? Distribution(Categorical{std::vector<Json>(1, *parameter.pinned)}) : *parameter.distribution;
  if (const auto out = admitted(allowed, value)) return *out;
  std::vector<std::string> names;
  if (const auto* list = std::get_if<Categorical>(&allowed)) {
    for (const Json& choice : list->choices) names.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
  }
  throw Error(parameter.name + " is " + value.dump() + ", but must be " + described(allowed) +
              (value.is_string() ? did_you_mean(value.get<std::string>(), names) : ""));
}

std::string described(const std::vector<Condition>& conditions) {
  std::vector<std::string> out;
  for (const Condition& c : conditions) {
    std::vector<std::string> values;
    for (const Json& value : c.values) values.push_back(value.dump());
    out.push_back(c.parent + (values.empty() ? " chosen" : " = " + joined(values, " or ")));
  }
  return joined(out, " and ");
}

Json drawn(const Distribution& distribution, Rng& rng) {
  if (const auto* d = std::get_if<Integer>(&distribution); d && d->log) {
    const double x =
        std::exp(rng.uniform(std::log(static_cast<double>(d->low) - 0.5), std::log(static_cast<double>(d->high) + 0.5)));
    return std::clamp(static_cast<int64_t>(std::llround(x)), d->low, d->high);
  }
  if (const auto count = cardinality(distribution)) return value_at(distribution, rng.below(*count));
  const Real& d = std::get<Real>(distribution);
  if (!d.log) return rng.uniform(d.low, d.high);
  return std::clamp(std::exp(rng.uniform(std::log(d.low), std::log(d.high))), d.low, d.high);
}

// The value of the distribution that is nearest to a given one; its first when they have nothing in common.
Json nearest_value(const Distribution& distribution, const Json* value) {
  if (value != nullptr) {
    if (const auto exact = admitted(distribution, *value)) return *exact;
  }
  const auto* real = std::get_if<Real>(&distribution);
  const auto* integer = std::get_if<Integer>(&distribution);
  if (value == nullptr || !value->is_number() || (!real && !integer)) {
    return real ? Json(real->low) : value_at(distribution, 0);
  }
  const double wanted = value->get<double>();
  const double low = real ? real->low : static_cast<double>(integer->low);
  const double high = real ? real->high : static_cast<double>(integer->high);
  const double inside = std::clamp(wanted, low, high);
  if (real && !real->step) return inside;
  return value_at(distribution, static_cast<uint64_t>(
                                    std::llround((inside - low) / (real ? *real->step : static_cast<double>(integer->step)))));
}

}  // namespace

const Json* Point::find(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Parameter* Space::find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

std::vector<std::string> Space::ranges() const {
  std::vector<std::string> out;
  for (const Parameter& p : parameters_) {
    if (!p.pinned && !std::holds_alternative<Categorical>(*p.distribution)) out.push_back(p.name);
  }
  return out;
}

bool Space::is_active(const Parameter& parameter, const Point& point) const {
  return std::all_of(parameter.conditions.begin(), parameter.conditions.end(), [&](const Condition& condition) {
    const Json* parent = point.find(condition.parent);
    if (parent == nullptr) return false;
    return condition.allows(*parent);
  });
}

Point Space::sample(Rng& rng) const {
  Point out;
  for (const Parameter& p : parameters_) {
    if (is_active(p, out)) out.set(p.name, p.pinned ? *p.pinned : drawn(*p.distribution, rng));
  }
  return out;
}

void Space::check(const Point& point) const {
  size_t active = 0;
  for (const Parameter& p : parameters_) {
    const Json* value = point.find(p.name);
    if (is_active(p, point)) {
      if (value == nullptr) throw Error(p.name + " is missing from the point");
      admitted_or_throw(p, *value);
      ++active;
    } else if (value != nullptr) {
      throw Error(p.name + " is given, but exists only with " + described(p.conditions));
    }
  }
  if (active == point.values().size()) return;
  for (const auto& [name, value] : point.values()) {
    if (find(name) == nullptr) throw Error("the point has '" + name + "', which is not in the search space");
  }
}

bool Space::has(const Point& point) const {
  try {
    check(point);
  } catch (const Error&) {
    return false;
  }
  return refused(point).empty();
}

Json Space::decode(const Point& point) const {
  Json out = Json::object();
  size_t used = 0;
  for (const std::string& key : order_) {
    for (const Parameter& p : parameters_) {
      if ((p.group.empty() ? p.member : p.group) != key) continue;
      const Json* value = point.find(p.name);
      if (value == nullptr) continue;
      (p.group.empty() ? out[key] : out[key][p.member]) = *value;
      ++used;
    }
  }
  if (used != point.values().size()) check(point);
  return out;
}

std::vector<std::pair<std::string, Json>> Space::flattened(const Json& words) const {
  if (!words.is_object()) throw Error("a configuration must be a mapping, not " + words.dump());
  std::vector<std::pair<std::string, Json>> out;
  for (const auto& [key, value] : words.items()) {
    const bool group = std::find(order_.begin(), order_.end(), key) != order_.end() && find(key) == nullptr;
    if (!group) {
      out.emplace_back(key, value);
    } else if (value.is_object()) {
      for (const auto& [member, inner] : value.items()) out.emplace_back(key + "_" + member, inner);
    } else if (!value.is_null()) {
      throw Error(key + " is a group of the search space and must be a mapping, not " + value.dump());
    }
  }
  return out;
}

Point Space::encode(const Json& words) const {
  const auto given = flattened(words);
  std::vector<std::string> names;
  for (const Parameter& p : parameters_) names.push_back(p.name);
  for (const auto& [name, value] : given) {
    if (find(name) == nullptr) throw Error("'" + name + "' is not in the search space" + known_names(name, names));
  }
  Point out;
  for (const Parameter& p : parameters_) {
    const auto found = std::find_if(given.begin(), given.end(), [&](const auto& entry) { return entry.first == p.name; });
    if (!is_active(p, out)) {
      if (found != given.end()) throw Error(p.name + " is given, but exists only with " + described(p.conditions));
    } else if (found != given.end()) {
      out.set(p.name, admitted_or_throw(p, found->second));
    } else {
      out.set(p.name, p.pinned ? *p.pinned : nearest_value(*p.distribution, nullptr));
    }
  }
  return out;
}

Point Space::nearest_to(const Json& words) const {
  const auto given = flattened(words);
  Point out;
  for (const Parameter& p : parameters_) {
    if (!is_active(p, out)) continue;
    const auto found = std::find_if(given.begin(), given.end(), [&](const auto& entry) { return entry.first == p.name; });
    out.set(p.name, p.pinned ? *p.pinned : nearest_value(*p.distribution, found == given.end() ? nullptr : &found->second));
  }
  return out;
}

Space Space::pinned(const Point& point) const {
  Space out = *this;
  for (Parameter& p : out.parameters_) {
    if (const Json* value = point.find(p.name)) p.pinned = admitted_or_throw(p, *value);
  }
  out.count_points();
  out.forbid(refusal_);
  return out;
}

void Space::hold(const std::string& name, const Json& value) {
  if (find(name) != nullptr) throw std::logic_error("the space has a parameter '" + name + "' already");
  parameters_.push_back({.name = name,
                         .group = "",
                         .member = name,
                         .distribution = std::make_shared<Distribution>(Categorical{std::vector<Json>(1, value)}),
                         .conditions = {},
                         .pinned = {}});
  order_.push_back(name);
  if (refusal_) {
    refusal_ = [before = refusal_, name](const Point& point) {
      Point without;
      for (const auto& [key, own] : point.values()) {
        if (key != name) without.set(key, own);
      }
      return before(without);
    };
  }
  count_points();  // as many as before, in the same order: `forbidden_` stays
}

void Space::forbid(Refusal refusal) {
  refusal_ = std::move(refusal);
  forbidden_.clear();
  const auto count = size();
  if (!refusal_ || !count || *count > most_looked_through) return;
  for (uint64_t i = 0; i < *count; ++i) {
    if (!refusal_(at(i)).empty()) forbidden_.insert(i);
  }
}

void Space::forbid_as(const Space& part) {
  const auto is_here = [&](const Parameter& own) { return find(own.name) != nullptr; };
  if (!part.refusal_ || !std::ranges::all_of(part.parameters_, is_here)) return;
  part_ = std::make_shared<const Space>(part);
  forbid([part = part_](const Point& point) {
    Point inner;
    for (const auto& [name, value] : point.values()) {
      if (part->find(name) != nullptr) inner.set(name, value);
    }
    return part->refused(inner);
  });
}

std::optional<uint64_t> Space::valid() const {
  const auto count = size();
  return count ? std::optional(*count - forbidden_.size()) : std::nullopt;
}

}  // namespace quasar::search
