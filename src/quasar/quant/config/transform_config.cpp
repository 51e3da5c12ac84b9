#include <algorithm>

#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant {
namespace {

// A key of one transform: the switch that turns it on, or one of its options.
struct Key {
  std::string key, transform, option;  // no option: the switch
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
                                    {"include_cle", "cle", ""},
                                    {"cle_steps", "cle", "cle_steps"},
                                    {"CLETotalLayerDiffThreshold", "cle", "cle_total_layer_diff_threshold"},
                                    {"CLEScaleAppendBias", "cle", "cle_scale_append_bias"},
                                    {"include_sq", "smooth_quant", ""},
                                    {"SmoothAlpha", "smooth_quant", "alpha"},
                                    {"BiasCorrection", "bias_correction", ""},
                                    {"FitPowerOfTwo", "fit_power_of_two", ""}};
  return all;
}

bool flag_of(const std::string& key, const Json& value) {
  if (value.is_null()) return false;
  if (!value.is_boolean()) throw Error(key + " is " + value.dump() + ", but must be true or false");
  return value.get<bool>();
}

// Pro's switch for equalization.
bool names_cle(const Json& words) {
  const Json value = words.value("cle_algo", Json());
  if (value.is_null()) return false;
  if (!value.is_string() || normalized(value.get<std::string>()) != "cle")
    throw Error("cle_algo is " + value.dump() + ", but must be cle or null");
  if (words.contains("include_cle") && words.at("include_cle") == false)
    throw Error("cle_algo is cle, but include_cle is false: one of them must go");
  return true;
}

const std::string awq_name = "awq";  // of a transform, and of the rounding that asks for it

// Its scales are searched for the weights as they will be rounded.
TransformUse awq_of(const Json& words, const Rounding& rounding) {
  const Scheme scheme = parse_scheme(words, "weight");
  Json weight = scheme_words(scheme);
  weight["data_type"] = name_of(scheme.type);
  return {awq_name,
          {{"weight", weight}, {"alpha", rounding.options.at("alpha")}, {"data_size", rounding.options.at("data_size")}}};
}

Json options_for(const std::string& transform, const Json& words) {
  Json options = Json::object();
  if (transform == "cle" && words.contains("cle_params") && !words.at("cle_params").is_null()) {
    options = words.at("cle_params");
    if (!options.is_object()) throw Error("cle_params must be a mapping, not " + options.dump());
  }
  for (const auto& key : keys()) {
    if (key.transform == transform && !key.option.empty() && words.contains(key.key) && !words.at(key.key).is_null())
      options[key.option] = words.at(key.key);
  }
  return options;
}

}  // namespace

std::vector<std::string> transform_keys() {
  std::vector<std::string> names{"cle_algo", "cle_params"};
  for (const auto& key : keys()) names.push_back(key.key);
  return names;
}

std::vector<TransformUse> parse_transforms(const Json& words) {
  std::vector<TransformUse> out;
  for (const auto& key : keys()) {
    if (!key.option.empty()) continue;
    const Json options = options_for(key.transform, words);
    const auto& [name, entry] = transforms::table().find(key.transform);
    const Options checked(entry.options, options, "transform " + name);
    bool on = flag_of(key.key, words.value(key.key, Json()));
    if (name == "cle") on = names_cle(words) || on;
    if (on) out.push_back({name, checked.all()});
  }
  if (const Rounding rounding = parse_rounding(words); rounding.method == awq_name) out.push_back(awq_of(words, rounding));
  return out;
}

Json to_json(const std::vector<TransformUse>& transforms) {
  Json words = Json::object();
  for (const auto& use : transforms) {
    for (const auto& key : keys()) {
      if (key.transform == use.name && use.name != "cle")
        words[key.key] = key.option.empty() ? Json(true) : use.options.at(key.option);
    }
    if (use.name == "cle") words.update({{"cle_algo", "cle"}, {"cle_params", use.options}});
  }
  return words;
}

}  // namespace quasar::quant
