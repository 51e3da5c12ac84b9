#include "quasar/job/settled_options.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/names.hpp"
#include "quasar/quant/codes/rounding_options.hpp"
#include "quasar/quant/config/rounding_config.hpp"

namespace quasar::tune {
namespace {

bool is_range(const Json& choices) {
  return choices.is_object() && choices.contains("low") && choices.contains("high") && choices.at("low").is_number() &&
         choices.at("high").is_number();
}

// Passes that a choice of num_iterations or NumIterLR stands for; null for what is neither.
Json passes_of(const Json& choice) {
  const Json& number = choice.is_array() && choice.size() == 2 ? choice[0] : choice;
  return number.is_number() ? Json(std::min(number.get<double>(), static_cast<double>(quant::most_sweeps))) : Json();
}

// The first of the choices that stand for the same number of passes.
Json without_equals(const Json& choices) {
  Json kept = Json::array(), seen = Json::array();
  for (const Json& choice : choices) {
    const Json passes = passes_of(choice);
    if (!passes.is_null() && std::ranges::find(seen, passes) != seen.end()) continue;
    if (!passes.is_null()) seen.push_back(passes);
    kept.push_back(choice);
  }
  return kept;
}

// A range that ends where more passes do the same.
Json shortened(const Json& range) {
  const double low = range.at("low").get<double>(), high = range.at("high").get<double>();
  constexpr auto most = static_cast<double>(quant::most_sweeps);
  if (low >= most) return Json::array({range.at("low")});
  const double step = range.contains("step") && range.at("step").is_number() ? range.at("step").get<double>() : 1;
  if (high <= most || step <= 0) return range;
  Json out = range;
  out["high"] = static_cast<int64_t>(low + step * std::ceil((most - low) / step));
  return out;
}

Json settled(const std::string& group, const std::string& option, const Json& choices) {
  if (quant::counts_passes(group, option)) {
    if (is_range(choices)) return shortened(choices);
    return choices.is_array() ? without_equals(choices) : choices;
  }
  if (!quant::makes_no_difference(group, option) || normalized(option) == "betarange") return choices;  // its value is a list
  if (is_range(choices)) return Json::array({choices.at("low")});
  return choices.is_array() && choices.size() > 1 ? Json::array({choices[0]}) : choices;
}

bool is_named_by_a_condition(const Json& space, const std::string& parameter) {
  return std::ranges::any_of(space, [&](const Json& group) {
    if (!group.is_object() || !group.contains("only_if")) return false;
    const Json& condition = group.at("only_if");
    return condition == parameter || (condition.is_object() && condition.contains(parameter));
  });
}

bool holds(const Json& choices, const Json& value) {
  if (is_range(choices)) return value.is_number() && value >= choices.at("low") && value <= choices.at("high");
  return choices.is_array() ? std::ranges::find(choices, value) != choices.end() : choices == value;
}

// The settled space's value for one that the space as it was written has.
void settle_value(Json& value, const std::string& option, const Json& before, const Json& after) {
  if (before == after || !holds(before, value) || holds(after, value)) return;
  if (is_range(after)) {
    value = after.at("high");
    return;
  }
  const Json passes = passes_of(value);
  const bool counted = normalized(option) == "numiterations" || normalized(option) == "numiterlr";
  const auto same = std::ranges::find_if(after, [&](const Json& choice) { return counted && passes_of(choice) == passes; });
  value = same == after.end() ? after[0] : *same;
}

}  // namespace

std::vector<std::string> settle_options(Json& space) {
  std::vector<std::string> names;
  const Json before = space;
  for (const auto& [group, options] : before.items()) {
    if (!options.is_object()) continue;
    for (const auto& [option, choices] : options.items()) {
      if (is_named_by_a_condition(space, group + "_" + option)) continue;
      Json one = settled(group, option, choices);
      if (one == choices) continue;
      space[group][option] = std::move(one);
      names.push_back(group + "." + option);
    }
  }
  return names;
}

void settle_configuration(Json& configuration, const Json& space, const Json& settled) {
  if (!configuration.is_object()) return;
  for (const auto& [group, options] : settled.items()) {
    if (!options.is_object()) continue;
    for (const auto& [option, after] : options.items()) {
      const Json& before = space.at(group).at(option);
      if (configuration.contains(group) && configuration[group].is_object() && configuration[group].contains(option))
        settle_value(configuration[group][option], option, before, after);
      if (configuration.contains(group + "_" + option)) settle_value(configuration[group + "_" + option], option, before, after);
    }
  }
}

}  // namespace quasar::tune
