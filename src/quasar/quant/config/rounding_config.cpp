#include "quasar/quant/config/rounding_config.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/rounding_options.hpp"

namespace quasar::quant {

bool Rounding::optimizes() const {
  return rounding::table().make(method, options)->optimizes();
}

namespace {

const std::string algorithms_key = "algorithms", pair_key = "NumIterLR", nearest_name = "nearest";

// The method that a group such as adaround_params belongs to; nullptr: none.
const Table<RoundingMethod>::Item* method_of_group(const std::string& key) {
  for (const auto& item : rounding::table().items()) {
    if (item.first != nearest_name && normalized(key) == normalized(item.first + "_params")) return &item;
  }
  return nullptr;
}

bool matches(const OptionSpec& spec, const std::string& name) {
  const auto same = [&](const std::string& other) { return normalized(other) == normalized(name); };
  return same(spec.name) || std::ranges::any_of(spec.aliases, same);
}

const InertOption* inert_option(const std::string& name) {
  for (const auto& option : inert_options()) {
    if (matches(option.spec, name)) return &option;
  }
  return nullptr;
}

std::vector<std::string> known_options(const Entry<RoundingMethod>& entry) {
  std::vector<std::string> names;
  for (const auto& spec : entry.options) names.push_back(spec.name);
  if (std::ranges::count(names, "num_iterations") > 0) names.push_back(pair_key);
  for (const auto& option : inert_options()) names.push_back(option.spec.name);
  return names;
}

bool acts(const Entry<RoundingMethod>& entry, const std::string& name) {
  return std::ranges::any_of(entry.options, [&](const OptionSpec& spec) { return matches(spec, name); });
}

// An option that only other methods have; nullptr: none has it.
const OptionSpec* option_elsewhere(const std::string& name) {
  for (const auto& [method, entry] : rounding::table().items()) {
    for (const auto& spec : entry.options) {
      if (matches(spec, name)) return &spec;
    }
  }
  return nullptr;
}

bool counts_iterations(const std::string& option) {
  return normalized(option) == "numiterations" || normalized(option) == normalized(pair_key);
}

// A name that begins alike comes before one of similar letters: num_iters means num_iterations.
std::string advice(const std::string& option, const std::vector<std::string>& known) {
  std::string stem = normalized(option);
  if (stem.size() > 1 && stem.back() == 's') stem.pop_back();
  const auto longer = std::ranges::find_if(known, [&](const auto& name) { return normalized(name).starts_with(stem); });
  return stem.size() < 4 || longer == known.end() ? did_you_mean(option, known) : did_you_mean(*longer, known);
}

// Samples are counted.
void check_data_size(const std::string& group, const Json& size) {
  if (size.is_number() && std::floor(size.get<double>()) != size.get<double>())
    throw Error(group + ".data_size is " + size.dump() + ", but must be a whole number of at least 1 (left out: all samples)");
}

void check_kept(const std::string& group, const Json& names) {
  for (const Json& name : names.is_array() ? names : Json::array({names})) {
    if (!name.is_string())
      throw Error(group + ".keep_activations holds " + name.dump() + ", but must be a list of names of values");
  }
}

const std::vector<std::string>& operator_types() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> types;
    for (const auto& [name, entry] : ops::types::table().items()) {
      for (const auto& type : entry.make({})->types()) types.emplace_back(type);
    }
    return types;
  }();
  return all;
}

// Lists that do not act: what they hold.
void check_inert_list(const std::string& key, const std::string& option, const Json& value) {
  if (option == "beta_range") {
    const auto number = [](const Json& end) { return end.is_number(); };
    if (!value.empty() && (value.size() != 2 || !std::ranges::all_of(value, number)))
      throw Error(key + " is " + value.dump() + ", but must be a pair of numbers");
  }
  if (option != "target_op_type") return;
  const std::vector<std::string>& known = operator_types();
  for (const Json& type : value) {
    const std::string name = type.is_string() ? type.get<std::string>() : "";
    if (std::ranges::count(known, name) == 0)
      throw Error(key + " holds " + type.dump() + ", but must be a list of operators that can be quantized, such as Conv" +
                  did_you_mean(name, known));
  }
}

// [iterations, learning rate], or the same as a JSON text.
std::pair<Json, Json> iterations_and_rate(const std::string& key, const Json& value) {
  const Json pair = value.is_string() ? json_in(value.get<std::string>()).value_or(Json()) : value;
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
    throw Error(key + " is " + value.dump() + ", but must be a pair [number of iterations, learning rate]");
  const Options rate({inert_option("learning_rate")->spec}, {{"learning_rate", pair[1]}}, key);  // its range
  return {pair[0], pair[1]};
}

bool has_number(const Json& options, const std::string& name) {
  return options.contains(name) && options.at(name).is_number();
}

// One method's group, sorted into what acts and what does not.
Rounding parse_group(const Table<RoundingMethod>::Item& item, const Json& given) {
  const auto& [name, entry] = item;
  const std::string group = name + "_params";
  Rounding out{.method = name};
  Json acting = Json::object(), pair;
  for (const auto& [option, value] : given.items()) {
    const std::string key = group + "." + option;
    if (normalized(option) == normalized(pair_key) && std::ranges::count(known_options(entry), pair_key) > 0) {
      if (!value.is_null()) pair = value;
    } else if (const InertOption* inert = inert_option(option)) {
      const Options checked({inert->spec}, {{option, value}}, group);
      if (value.is_null()) continue;
      check_inert_list(key, inert->spec.name, value);
      out.inert[inert->spec.name] = value;
    } else if (normalized(option) == normalized(pair_key)) {  // of a method that counts no iterations
      if (!value.is_null()) iterations_and_rate(key, value), out.inert[pair_key] = value;
    } else if (std::ranges::any_of(entry.options, [&](const OptionSpec& spec) { return matches(spec, option); })) {
      if (!value.is_null()) acting[option] = value;
    } else if (const OptionSpec* spec = option_elsewhere(option)) {
      const Options checked({*spec}, {{option, value}}, group);
      if (!value.is_null()) out.inert[spec->name] = value;
    } else {
      const auto known = known_options(entry);
      throw Error("unknown key '" + key + "'; known in " + group + ": " + joined(known) + advice(option, known));
    }
  }
  if (!pair.is_null()) {
    const auto [iterations, rate] = iterations_and_rate(group + "." + pair_key, pair);
    acting["num_iterations"] = iterations;
    out.inert["learning_rate"] = rate;
  }
  const Options options(entry.options, acting, group);
  out.options = options.all();
  check_data_size(group, out.options.value("data_size", Json()));
  check_kept(group, out.options.value("keep_activations", Json::array()));
  if (has_number(out.options, "alpha")) out.options["alpha"] = options.real("alpha");  // 1 and 1.0 are one value
  // Beyond what any layer needs, more passes are the same plan.
  if (out.options.contains("num_iterations")) out.options["num_iterations"] = sweeps_of(options);
  return out;
}

Json group_of(const std::string& name, const Json& words) {
  const Json group = words.value(name, Json::object());
  if (group.is_null()) return Json::object();
  if (!group.is_object()) throw Error(name + " must be a mapping, not " + group.dump());
  return group;
}

std::string chosen_method(const Json& words) {
  Json value = words.value(algorithms_key, Json());
  if (value.is_array() && value.size() == 1) value = value[0];
  if (value.is_null() || (value.is_array() && value.empty())) return nearest_name;
  if (!value.is_string())
    throw Error(algorithms_key + " is " + value.dump() + ", but one configuration has one of null, " +
                joined(rounding::table().spellings()));
  const auto name = value.get<std::string>();
  if (const auto* item = rounding::table().try_find(name)) return item->first;
  if (const auto* range = ranges::table().try_find(name)) {
    const bool splits = ranges::table().make(range->first)->of_blocks() == BlockRange::half_quadratic;
    const std::string scheme = splits ? ", or scheme: HQQ_G32ASYM" : "";
    throw Error(algorithms_key + ": '" + name + "' is a way to choose ranges here: weight_params: {calibration_method: " + name +
                "}" + scheme + "; algorithms round what these ranges leave open: " + joined(rounding::table().spellings()));
  }
  const auto known = rounding::table().spellings();
  throw Error(algorithms_key + ": unknown rounding method '" + name + "'; known: " + joined(known) + ", null (as rtn)" +
              did_you_mean(name, known));
}

// Calls use(option, value) for all values that a space holds for an option: choices, or the ends of a range.
template <class Use>
void for_each_value(const Json& group, const Use& use) {
  for (const auto& [option, value] : group.items()) {
    if (option == "only_if") continue;
    if (value.is_object() && (value.contains("low") || value.contains("high"))) {
      for (const char* end : {"low", "high"}) {
        if (value.contains(end)) use(option, value.at(end));
      }
    } else if (value.is_array() && normalized(option) != "betarange") {
      for (const auto& choice : value) use(option, choice);
    } else {
      use(option, value);
    }
  }
}

// Of a value, or of the choices of a space.
bool is_always_given(const Json& choices) {
  if (!choices.is_array()) return !choices.is_null();
  return std::ranges::none_of(choices, [](const Json& choice) { return choice.is_null(); });
}

// Several numbers of iterations, of which each is more than any layer needs.
bool is_enough(const Json& choices) {
  const Json least = choices.is_object() ? choices.value("low", Json()) : Json();
  const auto enough = [](const Json& number) { return number.is_number() && number.get<double>() >= most_sweeps; };
  if (choices.is_object()) return enough(least) && choices.value("high", Json()) != least;
  return choices.is_array() && choices.size() > 1 && std::ranges::all_of(choices, enough);
}

}  // namespace

std::vector<std::string> rounding_keys() {
  std::vector<std::string> keys{algorithms_key};
  for (const auto& [name, entry] : rounding::table().items()) {
    if (name != nearest_name) keys.push_back(name + "_params");
  }
  return keys;
}

Rounding parse_rounding(const Json& words) {
  const std::string method = chosen_method(words);
  Rounding out{.method = method};
  for (const auto& item : rounding::table().items()) {
    if (item.first == nearest_name) continue;
    Rounding parsed = parse_group(item, group_of(item.first + "_params", words));
    if (item.first == method) out = std::move(parsed);
  }
  return out;
}

bool makes_no_difference(const std::string& group, const std::string& option) {
  const auto* method = method_of_group(group);
  if (method == nullptr || normalized(option) == "onlyif") return false;
  if (inert_option(option) != nullptr) return true;
  if (counts_iterations(option)) return !acts(method->second, "num_iterations");
  return !acts(method->second, option) && option_elsewhere(option) != nullptr;
}

bool counts_passes(const std::string& group, const std::string& option) {
  const auto* method = method_of_group(group);
  return method != nullptr && counts_iterations(option) && acts(method->second, "num_iterations");
}

Json to_json(const Rounding& rounding) {
  if (rounding.method == nearest_name) return Json::object();
  Json params = rounding.options;
  for (const auto& [name, value] : rounding.inert.items()) params[name] = value;
  return {{algorithms_key, rounding.method}, {rounding.method + "_params", params}};
}

// Groups that exist where their method is not chosen.
std::vector<std::string> notes_on_misplaced_groups(const Json& space) {
  std::vector<std::string> notes;
  for (const auto& [key, group] : space.items()) {
    const auto* method = method_of_group(key);
    if (method == nullptr || !group.is_object() || !group.contains("only_if")) continue;
    const auto is_method = [&](const Json& name) {
      return name.is_string() && rounding::table().try_find(name.get<std::string>()) == method;
    };
    const Json all = space.value(algorithms_key, Json::array()), &condition = group.at("only_if");
    const Json wanted = condition.is_object() ? condition.value(algorithms_key, Json()) : Json();
    const std::string advice = "; write only_if: {" + algorithms_key + ": " + method->first + "}";
    const bool by_presence = condition == algorithms_key;  // then null is no other method: the group does not exist
    if (wanted.is_null()) {
      if (std::ranges::any_of(all.is_array() ? all : Json::array({all}),
                              [&](const Json& name) { return !(name.is_null() && by_presence) && !is_method(name); }))
        notes.push_back(key + " is varied where algorithms is not " + method->first + " too, without effect there" + advice);
    } else if (std::ranges::none_of(wanted.is_array() ? wanted : Json::array({wanted}), is_method)) {
      notes.push_back(key + " has no effect: it exists only where algorithms is " + wanted.dump() + advice);
    }
  }
  return notes;
}

std::vector<std::string> notes_on_inert_options(const Json& words) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // why, and of which options, in their order
  const auto add = [&](const std::string& why, const std::string& option) {
    const auto known = std::ranges::find_if(reasons, [&](const auto& reason) { return reason.first == why; });
    if (known == reasons.end()) {
      reasons.push_back({why, {option}});
    } else {
      known->second.push_back(option);
    }
  };
  for (const auto& [key, group] : words.items()) {
    if (method_of_group(key) == nullptr || !group.is_object()) continue;
    for (const auto& [option, value] : group.items()) {
      if (const InertOption* inert = inert_option(option)) add("no effect: " + inert->why, key + "." + option);
      const auto& entry = method_of_group(key)->second;
      if (counts_iterations(option) && !acts(entry, "num_iterations")) {
        add("no effect: this method goes over the weights once", key + "." + option);
      } else if (!acts(entry, option) && option_elsewhere(option) != nullptr) {
        add("no effect: this method has no use for it", key + "." + option);
      }
    }
    if (!acts(method_of_group(key)->second, "num_iterations")) continue;
    const bool single = group.contains("num_iterations"), pair = group.contains(pair_key);
    if (single && !pair && is_enough(group.at("num_iterations")))
      add("every value makes the same model: layers have settled within " + std::to_string(most_sweeps) + " passes",
          key + ".num_iterations");
    if (pair) add("the number of iterations acts, the learning rate does not", key + "." + pair_key);
    if (single && pair && is_always_given(group.at(pair_key)))
      add("no effect: " + pair_key + " wins over it", key + ".num_iterations");
  }
  std::vector<std::string> notes;
  for (const auto& [why, options] : reasons) {
    const bool inert = why.starts_with("no effect");
    notes.push_back(joined(options) + (!inert ? ": " : options.size() > 1 ? " have " : " has ") + why);
  }
  return notes;
}

void join_pairs(Json& search_space, std::vector<std::string>& notes) {
  for (auto& [key, group] : search_space.items()) {
    if (method_of_group(key) == nullptr || !group.is_object()) continue;
    bool always = false;
    std::vector<std::string> single;
    for (const auto& [option, choices] : group.items()) {
      const std::string name = normalized(option);
      if (name == normalized(pair_key)) always = is_always_given(choices);
      if (name == "numiterations" || name == "learningrate") single.push_back(option);
    }
    if (!always || single.empty()) continue;
    for (const auto& option : single) group.erase(option);
    notes.push_back(key + ": " + joined(single, " and ") + (single.size() > 1 ? " are" : " is") + " left out, as " + pair_key +
                    " stands for both");
  }
}

Json without_rounding(const Json& search_space) {
  Json rest = Json::object();
  for (const auto& [key, value] : search_space.items()) {
    const auto* item = method_of_group(key);
    if (normalized(key) == algorithms_key) {
      for (const auto& choice : value.is_array() ? value : Json::array({value})) chosen_method({{algorithms_key, choice}});
    } else if (item == nullptr) {
      rest[key] = value;
    } else if (value.is_object()) {
      for_each_value(value, [&](const std::string& option, const Json& choice) { parse_group(*item, {{option, choice}}); });
    }
  }
  return rest;
}

}  // namespace quasar::quant
