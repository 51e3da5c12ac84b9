#include <algorithm>

#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant {
namespace {

// A key of one transform: the switch that turns it on, or one of its options.
struct Key {
  std::string key, transform, option;  // no option: the switch
  // AMD Quark has another switch for some, which names the transform, and a mapping for its options. Configurations are written
  // with these. "": there are none.
  std::string algorithm = "", params = "";
};

// In the order in which transforms apply.
const std::vector<Key>& keys() {
  static const std::vector<Key> all{{"FuseInstanceNorm", "fuse_instance_norm", ""},
                                    {"FuseL2Norm", "fuse_l2_norm", ""},
                                    {"ConvertBNToConv", "bn_to_conv", ""},
                                    {"ConvertReduceMeanToGlobalAvgPool", "reduce_mean_to_global_average_pool", ""},
                                    {"SplitLargeKernelPool", "split_large_kernel_pool", ""},
                                    {"ConvertSplitToSlice", "split_to_slice", ""},
                                    {"ReplaceClip6Relu", "clip6_to_relu", ""},
                                    {"include_cle", "cle", "", "cle_algo", "cle_params"},
                                    {"cle_steps", "cle", "cle_steps"},
                                    {"CLETotalLayerDiffThreshold", "cle", "cle_total_layer_diff_threshold"},
                                    {"CLEScaleAppendBias", "cle", "cle_scale_append_bias"},
                                    {"include_sq", "smooth_quant", ""},
                                    {"SmoothAlpha", "smooth_quant", "alpha"},
                                    {"SmoothFunctions", "smooth_quant", "behind_functions"},
                                    {"BiasCorrection", "bias_correction", ""},
                                    {"FitPowerOfTwo", "fit_power_of_two", ""}};
  return all;
}

bool flag_of(const std::string& key, const Json& value) {
  if (value.is_null()) return false;
  if (!value.is_boolean()) throw Error(key + " is " + value.dump() + ", but must be true or false");
  return value.get<bool>();
}

bool is_named(const Key& key, const Json& words) {
  const Json value = key.algorithm.empty() ? Json() : words.value(key.algorithm, Json());
  if (value.is_null()) return false;
  if (!value.is_string() || normalized(value.get<std::string>()) != key.transform)
    throw Error(key.algorithm + " is " + value.dump() + ", but must be " + key.transform + " or null");
  if (words.contains(key.key) && words.at(key.key) == false)
    throw Error(key.algorithm + " is " + key.transform + ", but " + key.key + " is false: one of them must go");
  return true;
}

// Where weights share one scale, a channel that grows takes precision from all others.
Json smoothing_for(Json options, const Json& words) {
  options["behind_layers"] = parse_scheme(words, "weight").granularity != Granularity::tensor;
  return options;
}

// Its scales are searched for the weights as they will be rounded.
TransformUse scaled_for(const std::string& transform, const Json& words, const Rounding& rounding) {
  const Scheme scheme = parse_scheme(words, "weight");
  Json weight = scheme_words(scheme);
  weight["data_type"] = name_of(scheme.type);
  return {transform,
          {{"weight", weight}, {"alpha", rounding.options.at("alpha")}, {"data_size", rounding.options.at("data_size")}}};
}

Json options_for(const Key& on, const Json& words) {
  Json options = Json::object();
  if (!on.params.empty() && words.contains(on.params) && !words.at(on.params).is_null()) {
    options = words.at(on.params);
    if (!options.is_object()) throw Error(on.params + " must be a mapping, not " + options.dump());
  }
  for (const auto& key : keys()) {
    if (key.transform == on.transform && !key.option.empty() && words.contains(key.key) && !words.at(key.key).is_null())
      options[key.option] = words.at(key.key);
  }
  return options;
}

}  // namespace

bool change_values(const std::vector<TransformUse>& transforms) {
  return std::ranges::any_of(transforms,
                             [](const auto& use) { return !transforms::table().make(use.name, use.options)->corrects_plan(); });
}

std::vector<std::string> transform_keys() {
  std::vector<std::string> names;
  for (const auto& key : keys()) {
    if (!key.algorithm.empty()) names.insert(names.begin(), {key.algorithm, key.params});
    names.push_back(key.key);
  }
  return names;
}

std::vector<TransformUse> parse_transforms(const Json& words) {
  std::vector<TransformUse> out;
  for (const auto& key : keys()) {
    if (!key.option.empty()) continue;
    Json options = options_for(key, words);
    if (key.transform == std::string("smooth_quant")) options = smoothing_for(std::move(options), words);
    const auto& [name, entry] = transforms::table().find(key.transform);
    const Options checked(entry.options, options, "transform " + name);
    const bool on = flag_of(key.key, words.value(key.key, Json()));
    if (is_named(key, words) || on) out.push_back({name, checked.all()});
  }
  const Rounding rounding = parse_rounding(words);
  const std::string wanted = rounding::table().make(rounding.method, rounding.options)->transform();
  if (!wanted.empty()) out.push_back(scaled_for(wanted, words, rounding));
  return out;
}

Json to_json(const std::vector<TransformUse>& transforms) {
  Json words = Json::object();
  for (const auto& use : transforms) {
    const auto on = std::ranges::find_if(keys(), [&](const Key& key) { return key.transform == use.name && key.option.empty(); });
    if (on != keys().end() && !on->algorithm.empty()) {
      words.update({{on->algorithm, use.name}, {on->params, use.options}});
      continue;
    }
    for (const auto& key : keys()) {
      if (key.transform == use.name) words[key.key] = key.option.empty() ? Json(true) : use.options.at(key.option);
    }
  }
  return words;
}

}  // namespace quasar::quant
