#include <algorithm>
#include <cmath>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/search/space.hpp"

namespace quasar::search {
namespace {

constexpr double most_exact = 9007199254740992.0;  // 2^53: a study stores every number as a double

std::string at(const std::string& path) {
  return "search_space." + path + ": ";
}

bool looks_like_range(const Json& value) {
  return value.is_object() && (value.contains("low") || value.contains("high"));
}

Categorical choices_of(const std::string& path, const Json& value) {
  if (!value.is_array()) return {.choices = std::vector<Json>(1, value)};
  if (value.empty()) throw Error(at(path) + "the list is empty; give at least one choice");
  Categorical out;
  for (const Json& choice : value) {
    if (position_of(out, choice)) throw Error(at(path) + "the choice " + choice.dump() + " is given twice");
    out.choices.push_back(choice);
  }
  return out;
}

double bound(const std::string& path, const Json& range, const char* key, bool whole) {
  if (!range.contains(key)) throw Error(at(path) + "the range " + range.dump() + " has no '" + key + "'");
  const Json& value = range.at(key);
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!std::isfinite(number) || (whole && (std::floor(number) != number || std::abs(number) > most_exact))) {
    throw Error(at(path) + "'" + key + "' is " + value.dump() + ", but must be a " + (whole ? "whole " : "") + "number");
  }
  return number;
}

Integer integer_of(const std::string& path, const Json& range, bool log) {
  Integer out{.low = static_cast<int64_t>(bound(path, range, "low", true)),
              .high = static_cast<int64_t>(bound(path, range, "high", true)),
              .step = range.contains("step") ? static_cast<int64_t>(bound(path, range, "step", true)) : 1,
              .log = log};
  if (out.step < 1) throw Error(at(path) + "'step' is " + std::to_string(out.step) + ", but must be at least 1");
  if (log && out.step != 1) throw Error(at(path) + "'log' and 'step' cannot be combined; leave one of them out");
  if (log && out.low < 1) throw Error(at(path) + "with 'log', 'low' must be at least 1, but is " + std::to_string(out.low));
  if (out.low > out.high) throw Error(at(path) + "'low' is above 'high' in " + range.dump());
  out.high = out.low + (out.high - out.low) / out.step * out.step;
  return out;
}

Real real_of(const std::string& path, const Json& range, bool log) {
  Real out{.low = bound(path, range, "low", false), .high = bound(path, range, "high", false), .log = log};
  if (range.contains("step") && !range.at("step").is_null()) out.step = bound(path, range, "step", false);
  if (out.step && *out.step <= 0) throw Error(at(path) + "'step' is " + Json(*out.step).dump() + ", but must be above 0");
  if (log && out.step) throw Error(at(path) + "'log' and 'step' cannot be combined; leave one of them out");
  if (log && out.low <= 0) throw Error(at(path) + "with 'log', 'low' must be above 0, but is " + Json(out.low).dump());
  if (out.low > out.high) throw Error(at(path) + "'low' is above 'high' in " + range.dump());
  if (out.step) {
    const double steps = std::floor((out.high - out.low) / *out.step + 1e-8);
    if (steps > most_exact) throw Error(at(path) + "'step' is too small for the range " + range.dump());
    // The last step is `high` itself when it is hit but for rounding.
    const double reached = out.low + steps * *out.step;
    if (std::abs(reached - out.high) > 1e-8 * *out.step) out.high = reached;
  }
  return out;
}

// {type: categorical, choices: [...]}, as Auto Search Pro writes a list inside a group.
Json list_of(const std::string& path, const Json& words) {
  static const std::vector<std::string> keys = {"type", "choices"};
  for (const auto& [key, value] : words.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw Error(at(path) + "unknown key '" + key + "' beside type categorical; known: " + joined(keys) +
                  did_you_mean(key, keys));
  }
  const Json choices = words.value("choices", Json());
  if (!choices.is_array()) throw Error(at(path) + "'choices' is " + choices.dump() + ", but must be a list");
  return choices;
}

Distribution range_of(const std::string& path, const Json& range) {
  static const std::vector<std::string> keys = {"type", "low", "high", "step", "log"};
  static const std::vector<std::string> types = {"int", "float"};
  for (const auto& [key, value] : range.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw Error(at(path) + "unknown key '" + key + "' in a range; known: " + joined(keys) + did_you_mean(key, keys));
    }
  }
  const Json type = range.value("type", Json());
  const Json log = range.value("log", Json(false));
  if (!log.is_boolean()) throw Error(at(path) + "'log' is " + log.dump() + ", but must be true or false");
  if (type == "int") return integer_of(path, range, log.get<bool>());
  if (type == "float") return real_of(path, range, log.get<bool>());
  throw Error(at(path) + "'type' is " + type.dump() + ", but must be int, float or categorical; choices are a list");
}

DistributionPtr distribution_of(const std::string& path, const Json& value) {
  if (value.is_object()) return std::make_shared<Distribution>(range_of(path, value));
  return std::make_shared<Distribution>(choices_of(path, value));
}

// The parameters of level 1 and of all groups, without their conditions.
class Reader {
 public:
  explicit Reader(const Json& words) : words_(words) {
    for (const auto& [key, value] : words.items()) {
      if (value.is_object()) {
        read_group(key, value);
      } else {
        add({.name = key,
             .group = "",
             .member = key,
             .distribution = distribution_of(key, value),
             .conditions = {},
             .pinned = {}});
      }
    }
  }

  std::vector<Parameter> parameters;

  // What the only_if of a group asks for, with the values as their parent writes them.
  std::vector<Condition> conditions_of(const std::string& group) const {
    const Json& only_if = words_.at(group).at("only_if");
    if (only_if == true) return {};
    if (only_if.is_string()) return {{parent_of(group, only_if.get<std::string>()).name, {}}};
    if (!only_if.is_object() || only_if.empty()) {
      throw Error(at(group) + "only_if is " + only_if.dump() +
                  ", but must be the name of a parameter or {name: value, …}, {name: [value, …], …}, or true: always");
    }
    std::vector<Condition> out;
    for (const auto& [name, value] : only_if.items()) out.push_back({parent_of(group, name).name, values_of(group, name, value)});
    return out;
  }

 private:
  void add(Parameter parameter) {
    for (const Parameter& other : parameters) {
      if (other.name != parameter.name) continue;
      throw Error("search_space: two parameters have the name '" + parameter.name + "' in the study (" + path(other) + " and " +
                  path(parameter) + "); rename one");
    }
    parameters.push_back(std::move(parameter));
  }

  static std::string path(const Parameter& p) { return p.group.empty() ? p.member : p.group + "." + p.member; }

  void read_group(const std::string& group, const Json& members) {
    if (looks_like_range(members))
      throw Error(at(group) + "a range is possible only inside a group; write a list of choices here");
    if (members.contains("type") && !members.contains("only_if"))
      throw Error(at(group) + members.dump() + " describes one parameter, but the first level takes lists of choices: write " +
                  group + ": [choice, …]; ranges stand in groups such as " + group + "_params, which say only_if");
    if (!members.contains("only_if")) {
      throw Error(at(group) + "a group needs only_if: the name of the parameter that switches it on, or {name: value}, or true");
    }
    for (const auto& [member, value] : members.items()) {
      if (member == "only_if") continue;
      const std::string where = group + "." + member;
      add({.name = group + "_" + member,
           .group = group,
           .member = member,
           .distribution = distribution_of(where, value),
           .conditions = {},
           .pinned = {}});
    }
  }

  const Parameter& parent_of(const std::string& group, const std::string& name) const {
    std::vector<std::string> names;
    for (const Parameter& p : parameters) {
      if (p.name == name) return p;
      if (p.group != group) names.push_back(p.name);
    }
    if (words_.contains(name)) {
      throw Error(at(group) + "only_if names the group '" + name + "'; name the parameter that switches that group on");
    }
    throw Error(at(group) + "only_if names '" + name + "', which is not in the space; known: " + joined(names) +
                did_you_mean(name, names));
  }

  // A list is a value of its own where the parent has it, otherwise several values.
  std::vector<Json> values_of(const std::string& group, const std::string& name, const Json& wanted) const {
    if (!wanted.is_array() || contains(*parent_of(group, name).distribution, wanted)) return {value_of(group, name, wanted)};
    std::vector<Json> out;
    for (const Json& value : wanted) out.push_back(value_of(group, name, value));
    if (out.empty()) throw Error(at(group) + "only_if wants " + name + " = [], but a list must have at least one value");
    return out;
  }

  // Exactly a value of the parent, or a text that differs from one in case, '-' or '_'.
  Json value_of(const std::string& group, const std::string& name, const Json& value) const {
    const Distribution& parent = *parent_of(group, name).distribution;
    if (const auto position = position_of(parent, value)) return value_at(parent, *position);
    if (contains(parent, value)) return value;
    const std::string start = at(group) + "only_if wants " + name + " = " + value.dump();
    const auto* list = std::get_if<Categorical>(&parent);
    if (list == nullptr) throw Error(start + ", which is not in its range");
    std::vector<std::string> known;
    for (const Json& choice : list->choices) {
      if (value.is_string() && choice.is_string() &&
          normalized(choice.get<std::string>()) == normalized(value.get<std::string>()))
        return choice;
      known.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
    }
    throw Error(start + ", but its choices are " + joined(known) +
                (value.is_string() ? did_you_mean(value.get<std::string>(), known) : ""));
  }

  const Json& words_;
};

// Parents first, otherwise in the order given. Throws Error for a circle.
class Sorter {
 public:
  explicit Sorter(const std::vector<Parameter>& parameters) : parameters_(parameters), state_(parameters.size(), State::new_) {
    for (size_t i = 0; i < parameters.size(); ++i) visit(i);
  }

  std::vector<Parameter> sorted;

 private:
  enum class State { new_, open, done };

  void visit(size_t i) {
    if (state_[i] == State::done) return;
    path_.push_back(parameters_[i].group.empty() ? parameters_[i].name : parameters_[i].group);
    if (state_[i] == State::open) throw Error("search_space: only_if goes round in a circle: " + joined(path_, " needs "));
    state_[i] = State::open;
    for (const Condition& condition : parameters_[i].conditions) {
      for (size_t j = 0; j < parameters_.size(); ++j) {
        if (parameters_[j].name == condition.parent) visit(j);
      }
    }
    path_.pop_back();
    state_[i] = State::done;
    sorted.push_back(parameters_[i]);
  }

  const std::vector<Parameter>& parameters_;
  std::vector<State> state_;
  std::vector<std::string> path_;
};

}  // namespace

void write_lists(Json& space) {
  for (auto& [group, members] : space.items()) {
    if (!members.is_object() || !members.contains("only_if")) continue;
    for (auto& [member, value] : members.items()) {
      if (member != "only_if" && value.is_object() && value.value("type", Json()) == "categorical")
        value = list_of(group + "." + member, value);
    }
  }
}

Space Space::parse(const Json& words) {
  if (!words.is_object()) throw Error("search_space must be a mapping of names to lists and groups, not " + words.dump());
  Json lists = words;
  write_lists(lists);
  Reader reader(lists);
  std::map<std::string, std::vector<Condition>> conditions;
  for (const auto& [key, value] : lists.items()) {
    if (value.is_object()) conditions[key] = reader.conditions_of(key);
  }
  for (Parameter& parameter : reader.parameters) {
    if (!parameter.group.empty()) parameter.conditions = conditions.at(parameter.group);
  }
  Space out;
  out.parameters_ = Sorter(reader.parameters).sorted;
  for (const auto& [key, value] : lists.items()) out.order_.push_back(key);
  out.count_points();
  return out;
}

}  // namespace quasar::search
