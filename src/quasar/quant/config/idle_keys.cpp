#include "quasar/quant/config/idle_keys.hpp"

#include <algorithm>
#include <map>

#include "quasar/base/names.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/config/option_keys.hpp"

namespace quasar::quant {
namespace {

// A key, and what it waits for. Where it acts, the configuration's own words hold `sign`, or the key itself.
struct Idle {
  std::string key, why, sign = "";
};

std::vector<Idle> idle_keys() {
  const auto method = [](const std::string& name) {
    return "calibration_method is " + name + " neither for activations nor for weights";
  };
  const std::string equalization = "neither include_cle nor cle_algo asks for equalization";
  std::vector<Idle> all{{"SmoothAlpha", "include_sq is not true"},
                        {"SmoothFunctions", "include_sq is not true"},
                        {"cle_steps", equalization, "cle_algo"},
                        {"CLETotalLayerDiffThreshold", equalization, "cle_algo"},
                        {"CLEScaleAppendBias", equalization, "cle_algo"},
                        {"Percentile", method("Percentile")},
                        {"PercentileCandidates", method("LayerwisePercentile")},
                        {"AutoMixprecision", "include_auto_mp is not true"}};
  for (const auto& [name, entry] : rounding::table().items()) all.push_back({name + "_params", "algorithms is not " + name});
  return all;
}

// Moving averages and margins are of what samples show: of activations, and weights have none. What a key is anyway needs no
// note: Quasar's own configurations hold all three.
std::string why_no_extremes(const std::string& key, const Json& value, const Config& config) {
  static const std::map<std::string, std::string> options{{normalized("CalibMovingAverage"), "moving_average"},
                                                          {normalized("CalibMovingAverageConstant"), "moving_average_constant"},
                                                          {normalized("RangeMargin"), "margin"}};
  const auto option = options.find(normalized(key));
  if (option == options.end()) return "";
  const auto& specs = ranges::table().find("min_max").second.options;
  const auto spec = std::ranges::find(specs, option->second, &OptionSpec::name);
  if (spec != specs.end() && value == spec->fallback) return "";
  std::vector<const Scheme*> activations{&config.activation};
  for (const auto& rule : config.layers) activations.push_back(&rule.activation);
  if (config.mixed) activations.push_back(&config.mixed->activation);
  std::erase_if(activations, [](const Scheme* scheme) {
    return !scheme->range_options.contains("moving_average") || !is_integer(scheme->type) || scheme->dynamic;
  });
  if (activations.empty()) return "calibration_method of activations is not MinMax";
  const auto averages = [](const Scheme* scheme) { return scheme->range_options.value("moving_average", Json()) == true; };
  if (option->second == "moving_average_constant" && std::ranges::none_of(activations, averages))
    return "CalibMovingAverage is not true";
  const auto is_wide = [](const Scheme* scheme) { return bits_of(scheme->type) == 16; };
  return option->second == "margin" && std::ranges::none_of(activations, is_wide) ? "no values have 16 bits" : "";
}

// It stretches ranges of activations to the ends of power-of-two grids.
bool fits_nothing(const std::string& key, const Config& config) {
  if (normalized(key) != normalized("FitPowerOfTwo")) return false;
  const auto coarse = [](const Scheme& scheme) { return scheme.scale_type == ScaleType::power_of_two; };
  return !coarse(config.activation) && !(config.mixed && coarse(config.mixed->activation)) &&
         std::ranges::none_of(config.layers, [&](const auto& rule) { return coarse(rule.activation); });
}

}  // namespace

std::vector<std::string> notes_on_idle_keys(const Json& words, const Config& config) {
  const Json acting = to_json(config);
  std::vector<std::string> notes;
  for (const auto& [key, value] : words.items()) {
    if (value.is_null()) continue;
    if (normalized(key) == "scheme" && value.is_string()) {
      if (std::string note = note_on_scheme(value.get<std::string>()); !note.empty()) notes.push_back(std::move(note));
    }
    for (const auto& idle : idle_keys()) {
      if (normalized(key) == normalized(idle.key) && !acting.contains(idle.sign.empty() ? idle.key : idle.sign))
        notes.push_back(key + " has no effect: " + idle.why);
    }
    if (const std::string why = why_no_extremes(key, value, config); !why.empty())
      notes.push_back(key + " has no effect: " + why);
    if (value == true && fits_nothing(key, config))
      notes.push_back(key + " is of no use: no activations have power-of-two scales");
    for (const auto& option : fixed_options()) {
      if (option.inert && normalized(key) == normalized(option.key)) notes.push_back(key + " makes no difference: " + option.why);
    }
  }
  return notes;
}

}  // namespace quasar::quant
