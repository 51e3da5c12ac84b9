#include "quasar/job/preset.hpp"

#include <algorithm>

namespace quasar::tune {
namespace {

bool has_choice(const Json& choices, const Json& value) {
  const auto same = [&](const Json& choice) {
    if (choice.is_string() && value.is_string())
      return normalized(choice.get<std::string>()) == normalized(value.get<std::string>());
    return choice == value;
  };
  return choices.is_array() ? std::ranges::any_of(choices, same) : same(choices);
}

// Whether the group can still exist: `algorithms: [null]` leaves none of adaround_params.
bool is_reachable(const Json& group, const Json& space) {
  const Json only_if = group.value("only_if", Json());
  const auto left = [&](const std::string& parent) { return space.value(parent, Json()); };
  if (only_if.is_string()) {
    const Json choices = left(only_if.get<std::string>());
    return choices.is_array() ? std::ranges::any_of(choices, [](const Json& c) { return !c.is_null(); }) : !choices.is_null();
  }
  if (!only_if.is_object()) return true;
  for (const auto& [parent, value] : only_if.items()) {
    if (!space.contains(parent)) continue;
    const Json choices = left(parent);
    const auto is_left = [&](const Json& wanted) { return has_choice(choices, wanted); };
    if (!is_left(value) && !(value.is_array() && std::ranges::any_of(value, is_left))) return false;
  }
  return true;
}

// The user's keys as the preset spells them. What is left twice is for the space's own check.
Json as_spelled(const Json& given, const Json& preset) {
  Json out = Json::object();
  for (const auto& [name, choices] : given.items()) {
    std::string spelled = name;
    for (const auto& [known, value] : preset.items()) {
      if (normalized(known) == normalized(name)) spelled = known;
    }
    out[given.contains(spelled) || out.contains(spelled) ? name : spelled] = choices;
  }
  return out;
}

// The user's choices over the preset's; groups of the preset that these make impossible go.
Json merged_space(const Json& written, const Json& preset) {
  const Json given = as_spelled(written, preset);
  Json out = preset;
  for (const auto& [name, choices] : given.items()) out[name] = choices;
  for (const auto& [name, group] : preset.items()) {
    if (group.is_object() && !given.contains(name) && !is_reachable(group, out)) out.erase(name);
  }
  return out;
}

// two_stage_search names one too.
bool names_a_strategy(const Json& words) {
  const Json criterion = words.value("tuning_criterion", Json());
  return words.contains("strategy") || words.contains("quant_level") || (criterion.is_object() && criterion.contains("strategy"));
}

}  // namespace

Preset search_for(const TargetSearch& target) {
  Json space{{"activation", target.activations},
             {"activation_params",
              {{"symmetric", {target.symmetric}}, {"calibration_method", target.methods}, {"only_if", "activation"}}},
             {"weight", {"Int8Spec"}},
             {"weight_params",
              {{"symmetric", {true}},
               {"calibration_method", {"MinMax", "MinMSE"}},
               {"quant_granularity", {"Channel"}},
               {"only_if", "weight"}}}};
  for (const auto& [name, choices] : target.more.items()) space[name] = choices;
  space["algorithms"] = {nullptr, "adaround", "adaquant"};
  return Preset({{"target", target.target}, {"search_space", space}, {"two_stage_search", true}, {"search_algo", "Grid"}}, true);
}

void forget_unreachable(Json& space, const Json& before) {
  const Json now = space;
  for (const auto& [name, group] : now.items()) {
    const bool same = group.is_object() && before.contains(name) && before.at(name) == group;
    if (same && is_reachable(group, before) && !is_reachable(group, now)) space.erase(name);
  }
}

Json over_preset(const Json& words, const Json& preset) {
  Json merged = preset;
  if (names_a_strategy(words)) merged.erase("two_stage_search");
  for (const auto& [key, value] : words.items()) {
    const bool both = key == "search_space" && value.is_object() && merged.contains(key);
    if (!both) {
      merged[key] = value;
      continue;
    }
    merged[key] = merged_space(value, merged.at(key));
  }
  return merged;
}

Json with_preset(const Json& words) {
  const Json name = words.value("preset", Json());
  if (name.is_null()) return words;
  if (!name.is_string()) throw Error("preset is " + name.dump() + ", but must be a name: " + joined(presets::table().names()));
  return over_preset(words, presets::table().find(name.get<std::string>()).second.make({})->words());
}

}  // namespace quasar::tune
