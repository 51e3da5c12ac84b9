// v1's search spaces in the hierarchical form.
#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/job/v1.hpp"
#include "quasar/job/v1_names.hpp"
#include "quasar/job/v1_words.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::tune {
namespace {

using namespace v1;

// They steer v1's own program, not the model.
const std::vector<std::string> without_effect{"execution_providers", "debug_mode",         "print_summary",
                                              "ignore_warnings",     "log_severity_level", "convert_fp16_to_fp32"};

// QuantType.QInt8 -> Int8Spec.
Json spec_of(const std::string& key, const Json& value) {
  if (!value.is_string()) throw Error(key + " is " + value.dump() + ", but must be the name of a type, for example QInt8");
  std::string name = last_word(value.get<std::string>());
  if (name.starts_with("Q") || name.starts_with("q")) name.erase(0, 1);
  return normalized(name).ends_with("spec") ? name : name + "Spec";
}

bool is_only(const Json& choices, const Json& value) {
  return std::ranges::all_of(choices, [&](const Json& choice) { return choice == value; });
}

// null: it has no such key.
Json value_of(const Json& words, const std::string& name) {
  for (const auto& [key, value] : words.items()) {
    if (same(key, name)) return value;
  }
  return nullptr;
}

// All keys of a space and of its base, as choices; extra_options and FastFinetune opened.
class Keys {
 public:
  Keys(const Json& space, const Json& base) {
    open(base, true);
    open(space, false);
  }

  // The choices of a key, taken out; null when it is not given.
  Json take(const std::string& name) {
    const Json known = choices_;
    for (const auto& [key, value] : known.items()) {
      if (!same(key, name)) continue;
      choices_.erase(key);
      return value;
    }
    return nullptr;
  }

  const Json& rest() const { return choices_; }
  const Json& fine_tuning() const { return fine_tuning_; }

 private:
  void open(const Json& words, bool single) {
    for (const auto& [key, value] : words.items()) {
      const bool fine_tuning = same(key, "FastFinetune");
      if (fine_tuning || same(key, "extra_options")) {
        if (!value.is_object()) throw Error(key + " is " + value.dump() + ", but must be a mapping");
        if (fine_tuning) {
          for (const auto& [name, inner] : value.items()) fine_tuning_[name] = single ? Json::array({inner}) : choices_of(inner);
        } else {
          open(value, single);
        }
      } else {
        take(key);
        choices_[key] = single ? Json::array({value}) : choices_of(value);
      }
    }
  }

  Json choices_ = Json::object(), fine_tuning_ = Json::object();
};

class Translator {
 public:
  Translator(const Json& space, const Json& base)
      : keys_(space, base),
        space_(space),
        in_space_(value_of(space, "include_fast_ft")),
        in_base_(value_of(base, "include_fast_ft")) {}

  Translation run() {
    types();
    methods();
    transforms();
    fine_tuning();
    names();
    refusals();
    for (const auto& [key, choices] : keys_.rest().items()) {
      check_key(key);
      if (std::ranges::any_of(without_effect, [&](const auto& name) { return same(key, name); })) {
        out_.notes.push_back(key + " has no effect here: it steers another program");
      } else {
        out_.space[key] = choices;
      }
    }
    return std::move(out_);
  }

 private:
  Json given(const std::string& key, const Json& fallback) {
    Json choices = keys_.take(key);
    return choices.is_null() ? fallback : choices;
  }

  void types() {
    const std::vector<std::pair<std::string, std::string>> sides{{"activation", "ActivationSymmetric"},
                                                                 {"weight", "WeightSymmetric"}};
    for (const auto& [side, symmetric] : sides) {
      Json specs = Json::array();
      for (const Json& type : given(side + "_type", Json::array({"QInt8"}))) specs.push_back(spec_of(side + "_type", type));
      out_.space[side] = specs;
      if (Json condition = where_parameters_are(side, specs); !condition.is_null())
        out_.space[side + "_params"] = {{"symmetric", given(symmetric, Json::array({side == "weight"}))},
                                        {"only_if", std::move(condition)}};
      else if (!keys_.take(symmetric).is_null())
        out_.notes.push_back(symmetric + " has no effect: " + side + "_type has no scales");
    }
    weight_parameters();
  }

  // The condition of a side's parameters: some types have none (floating point, DynamicSpec). null: none has any.
  static Json where_parameters_are(const std::string& side, const Json& specs) {
    Json with = Json::array();
    for (const Json& spec : specs) {
      if (quant::may_have_parameters(spec)) with.push_back(spec);
    }
    if (with.empty()) return nullptr;
    return with.size() == specs.size() ? Json(side) : Json{{side, with}};
  }

  // Of a base configuration by name: groups, which v1 has no word for.
  void weight_parameters() {
    const Json channel = keys_.take("per_channel"), own = keys_.take("weight_params");
    if (!out_.space.contains("weight_params")) return;
    Json& group = out_.space["weight_params"];
    if (own.is_array() && own.size() == 1 && own[0].is_object()) {
      for (const auto& [key, value] : own[0].items()) {
        if (!group.contains(key)) group[key] = Json::array({value});
      }
    }
    if (!channel.is_null() && !group.contains("quant_granularity")) {
      Json granularity = Json::array();
      for (const Json& flag : channel) granularity.push_back(flag == true ? "Channel" : "Tensor");
      group["quant_granularity"] = granularity;
    }
  }

  // Options of one method exist only with it.
  void methods() {
    const Json methods = given("calibrate_method", Json::array({"PowerOfTwoMethod.MinMSE"}));
    out_.space["calibrate_method"] = methods;
    const auto chosen = [&](const std::string& name) -> Json {
      for (const Json& method : methods) {
        if (method.is_string() && same(last_word(method.get<std::string>()), name)) return method;
      }
      return nullptr;
    };
    if (const Json average = keys_.take("CalibMovingAverage"); !average.is_null()) {
      const Json constant = keys_.take("CalibMovingAverageConstant");
      under("minmax_options", "CalibMovingAverage", average, chosen("MinMax"), "calibrate_method");
      const bool on = std::ranges::any_of(average, [](const Json& flag) { return flag == true; });
      if (!constant.is_null() && on && !chosen("MinMax").is_null()) {
        under("moving_average_options", "CalibMovingAverageConstant", constant, true, "minmax_options_CalibMovingAverage");
      } else if (!constant.is_null()) {
        no_average();
      }
    } else if (!keys_.take("CalibMovingAverageConstant").is_null()) {
      no_average();
    }
    if (const Json percentile = keys_.take("Percentile"); !percentile.is_null())
      under("percentile_options", "Percentile", percentile, chosen("Percentile"), "calibrate_method");
    if (const Json candidates = keys_.take("PercentileCandidates"); !candidates.is_null())
      under("layerwise_options", "PercentileCandidates", candidates, chosen("LayerWisePercentile"), "calibrate_method");
  }

  void no_average() {
    out_.notes.push_back(
        "CalibMovingAverageConstant has no effect: CalibMovingAverage is on nowhere under calibrate_method MinMax");
  }

  void under(const std::string& group, const std::string& key, const Json& choices, const Json& value,
             const std::string& parent) {
    if (value.is_null()) {
      // An option of the base's method goes with it where the space has other methods.
      const bool replaced = !value_of(space_, "calibrate_method").is_null() && value_of(space_, key).is_null() &&
                            value_of(value_of(space_, "extra_options"), key).is_null();
      if (!replaced) out_.notes.push_back(key + " has no effect: no calibrate_method of the space uses it");
      return;
    }
    out_.space[group] = {{key, choices}, {"only_if", {{parent, value}}}};
  }

  // An option of a transform exists where that is on.
  void with_switch(const std::string& group, const char* key, const char* parent) {
    const Json choices = keys_.take(key);
    if (choices.is_null()) return;
    if (out_.space.contains(parent)) {
      out_.space[group][key] = choices;
      out_.space[group]["only_if"] = {{parent, true}};
    } else {
      out_.notes.push_back(std::string(key) + " has no effect: " + parent + " is never true");
    }
  }

  void transforms() {
    for (const char* key : {"include_cle", "include_auto_mp", "include_sq", "enable_npu_cnn"}) {
      const Json choices = keys_.take(key);
      const bool off = is_only(choices, false) && key != std::string("enable_npu_cnn");  // which the types may have switched on
      if (choices.is_null() || off) continue;
      out_.space[key] = choices;
    }
    for (const char* key : {"CLESteps", "CLETotalLayerDiffThreshold", "CLEScaleAppendBias"})
      with_switch("cle_options", key, "include_cle");
    with_switch("smooth_quant_options", "SmoothAlpha", "include_sq");
  }

  void fine_tuning() {
    const Json wanted = given("include_fast_ft", Json::array({false}));
    const Json params = keys_.fine_tuning();
    for (const auto& [name, choices] : params.items()) check_fine_tuning_key(name);
    if (is_only(wanted, false)) {
      if (!params.empty()) out_.notes.push_back("FastFinetune has no effect: " + why_not_fine_tuned());
      return;
    }
    Json methods = Json::array(), own = Json::object();
    for (const auto& [name, choices] : params.items()) {
      if (same(name, "OptimAlgorithm")) {
        methods = choices;
      } else {
        own[same(name, "NumIterLR") ? "NumIterLR" : snake_case(name)] = choices;
      }
    }
    if (own.contains("NumIterLR")) {
      for (const char* key : {"num_iterations", "learning_rate"}) {
        if (own.erase(key) > 0) out_.notes.push_back("NumIterLR stands for NumIterations and LearningRate, which are ignored");
      }
    }
    for (const Json& method : methods) check_fine_tuning_method(method);
    if (methods.empty()) methods = Json::array({"adaround"});
    Json algorithms = Json::array();
    if (!is_only(wanted, true)) algorithms.push_back(nullptr);
    for (const Json& method : methods) {
      algorithms.push_back(method);
      if (own.empty() || !method.is_string()) continue;
      Json group = own;
      group["only_if"] = {{"algorithms", method}};
      out_.space[method.get<std::string>() + "_params"] = group;
    }
    out_.space["algorithms"] = algorithms;
  }

  // search_space decides about include_fast_ft where it has it, quant_config elsewhere.
  std::string why_not_fine_tuned() const {
    const std::string name = "include_fast_ft is ";
    if (in_space_.is_null() && in_base_.is_null()) return name + "true neither in search_space nor in quant_config";
    if (in_space_.is_null()) return name + "false in quant_config, and search_space does not say otherwise";
    return name + "false in search_space" + (in_base_ == true ? ", which comes before quant_config, where it is true" : "");
  }

  // Settings of v1's that have one value here.
  void refusals() {
    struct Refusal {
      const char *key, *why;
    };
    for (const auto& [key, why] : {Refusal{"use_dynamic_quant", "activation_type: DynamicSpec is the way to say so"},
                                   Refusal{"specific_tensor_precision", "TensorQuantOverrides is the way to say so"}}) {
      const Json choices = keys_.take(key);
      if (!choices.is_null() && !is_only(choices, false))
        throw Error(std::string(key) + " is " + choices.dump() + ", but only false is possible: " + why);
    }
    if (const Json choices = keys_.take("reduce_range"); !choices.is_null() && !is_only(choices, false))
      out_.space["reduce_range"] = choices;
    Json formats = keys_.take("quant_format");
    if (formats.is_null()) return;
    for (Json& format : formats) {
      if (format.is_string()) format = last_word(format.get<std::string>());
    }
    out_.space["quant_format"] = formats;
  }

  void names() {
    const std::vector<std::pair<const char*, const char*>> renamed{{"nodes_to_exclude", "exclude"},
                                                                   {"op_types_to_quantize", "OpTypesToQuantize"},
                                                                   {"nodes_to_quantize", "NodesToQuantize"},
                                                                   {"optimize_model", "OptimizeModel"}};
    for (const auto& [from, to] : renamed) {
      if (const Json choices = keys_.take(from); !choices.is_null()) out_.space[to] = choices;
    }
  }

  Keys keys_;
  const Json& space_;
  Json in_space_, in_base_;  // include_fast_ft as given
  Translation out_{Json::object(), {}};
};

}  // namespace

Translation from_v1(const Json& space, const Json& base) {
  return Translator(space, base).run();
}

}  // namespace quasar::tune
