#include "quasar/quant/idle_keys.hpp"

#include "quasar/base/names.hpp"
#include "quasar/quant/rounding.hpp"

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
                        {"cle_steps", equalization, "cle_algo"},
                        {"CLETotalLayerDiffThreshold", equalization, "cle_algo"},
                        {"CLEScaleAppendBias", equalization, "cle_algo"},
                        {"Percentile", method("Percentile")},
                        {"PercentileCandidates", method("LayerwisePercentile")},
                        {"CalibMovingAverage", method("MinMax")},
                        {"CalibMovingAverageConstant", method("MinMax")},
                        {"AutoMixprecision", "include_auto_mp is not true"}};
  for (const auto& [name, entry] : rounding::table().items()) all.push_back({name + "_params", "algorithms is not " + name});
  return all;
}

}  // namespace

std::vector<std::string> notes_on_idle_keys(const Json& words, const Config& config) {
  const Json acting = to_json(config);
  std::vector<std::string> notes;
  for (const auto& [key, value] : words.items()) {
    for (const auto& idle : idle_keys()) {
      if (normalized(key) == normalized(idle.key) && !value.is_null() &&
          !acting.contains(idle.sign.empty() ? idle.key : idle.sign))
        notes.push_back(key + " has no effect: " + idle.why);
    }
  }
  return notes;
}

}  // namespace quasar::quant
