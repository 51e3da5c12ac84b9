#include "quasar/base/plugin.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "quasar/base/as_written.hpp"

namespace quasar {
namespace {

[[noreturn]] void reject(const std::string& owner, const OptionSpec& spec, const Json& value, const std::string& allowed) {
  throw Error(owner + ": option '" + spec.name + "' is " + as_written(value) + ", but must be " + allowed);
}

std::string bounds(const OptionSpec& spec) {
  const auto number = [](double v) {
    return std::floor(v) == v && std::abs(v) < 1e15 ? std::to_string(static_cast<int64_t>(v)) : Json(v).dump();
  };
  if (spec.low && spec.high) return " from " + number(*spec.low) + " to " + number(*spec.high);
  if (spec.low) return " of at least " + number(*spec.low);
  if (spec.high) return " of at most " + number(*spec.high);
  return "";
}

Json checked(const std::string& owner, const OptionSpec& spec, const Json& value) {
  const bool bounded = spec.low || spec.high;  // without a default, bounds say that it is a number
  if (value.is_null() || (spec.fallback.is_null() && !bounded)) return value;
  if (spec.fallback.is_boolean() && !value.is_boolean()) reject(owner, spec, value, "true or false");
  if (spec.fallback.is_number() || spec.fallback.is_null()) {
    const bool whole = spec.fallback.is_number_integer();
    constexpr double largest = 9e15;  // whole numbers up to here are exact in a double
    const bool exact =
        value.is_number() && std::floor(value.get<double>()) == value.get<double>() && std::abs(value.get<double>()) <= largest;
    if (!value.is_number() || (whole && !exact)) {
      const bool large = value.is_number() && std::abs(value.get<double>()) > largest;
      reject(owner, spec, value,
             (whole ? "a whole number" : "a number") + bounds(spec) + (large ? ", and below 9e15" : "") +
                 (spec.help.starts_with("bytes") ? " (bytes)" : ""));
    }
    const double number = value.get<double>();
    if ((spec.low && number < *spec.low) || (spec.high && number > *spec.high) || std::isnan(number)) {
      reject(owner, spec, value, "a number" + bounds(spec));
    }
    if (whole) return static_cast<int64_t>(number);
    if (spec.fallback.is_number()) return number;  // 1 and 1.0 are one value
  }
  if (spec.fallback.is_string()) {
    if (!value.is_string()) reject(owner, spec, value, spec.choices.empty() ? "a text" : "one of " + joined(spec.choices));
    if (spec.choices.empty()) return value;
    for (const auto& choice : spec.choices) {
      if (normalized(choice) == normalized(value.get<std::string>())) return choice;
    }
    reject(owner, spec, value, "one of " + joined(spec.choices) + did_you_mean(value.get<std::string>(), spec.choices));
  }
  if (spec.fallback.is_array() && !value.is_array()) reject(owner, spec, value, "a list");
  if (spec.fallback.is_object() && !value.is_object()) reject(owner, spec, value, "a mapping");
  return value;
}

const OptionSpec* find(const std::vector<OptionSpec>& specs, const std::string& name) {
  for (const auto& spec : specs) {
    if (normalized(spec.name) == normalized(name)) return &spec;
    for (const auto& alias : spec.aliases) {
      if (normalized(alias) == normalized(name)) return &spec;
    }
  }
  return nullptr;
}

}  // namespace

Options::Options(const std::vector<OptionSpec>& specs, const Json& given, const std::string& owner) {
  if (!given.is_null() && !given.is_object()) throw Error(owner + ": options must be a mapping, not " + given.dump());
  std::vector<std::string> names;
  for (const auto& spec : specs) {
    names.push_back(spec.name);
    values_[spec.name] = spec.fallback;
  }
  if (given.is_null()) return;
  std::map<std::string, std::string> seen;  // by its name -> as it was written
  for (const auto& [name, value] : given.items()) {
    const OptionSpec* spec = find(specs, name);
    if (spec == nullptr) {
      throw Error(owner + ": unknown option '" + name + "'" +
                  (names.empty() ? "; it takes no options" : known_names(name, names)));
    }
    if (const auto [before, is_new] = seen.emplace(spec->name, name); !is_new)
      throw Error(owner + ": '" + before->second + "' and '" + name + "' are one option, given twice");
    if (value.is_null()) continue;  // left out
    given_.push_back(spec->name);
    values_[spec->name] = checked(owner, *spec, value);
  }
}

bool Options::has(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found != values_.end() && !found->is_null();
}

bool Options::given(std::string_view name) const {
  return std::find(given_.begin(), given_.end(), name) != given_.end();
}

const Json& Options::json(std::string_view name) const {
  return values_.at(std::string(name));
}
double Options::real(std::string_view name) const {
  return json(name).get<double>();
}
int64_t Options::integer(std::string_view name) const {
  return json(name).get<int64_t>();
}
bool Options::flag(std::string_view name) const {
  return json(name).get<bool>();
}
std::string Options::text(std::string_view name) const {
  return json(name).get<std::string>();
}

}  // namespace quasar
