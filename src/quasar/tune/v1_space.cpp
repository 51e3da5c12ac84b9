// v1's search spaces in the hierarchical form.
#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/tune/v1.hpp"
#include "quasar/tune/v1_words.hpp"

namespace quasar::tune {
namespace {

using namespace v1;

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& other) { return same(name, other); });
}

// Only v1 has these.
const std::vector<std::string> v1_keys{"calibrate_method", "activation_type", "weight_type", "include_cle",
                                       "include_auto_mp",  "include_fast_ft", "include_sq",  "extra_options",
                                       "enable_npu_cnn",   "nodes_to_exclude"};
const std::vector<std::string> pro_keys{"activation", "weight", "activation_params", "weight_params", "algorithms", "cle_algo"};

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

// All keys of a space and of its base, as choices; extra_options and FastFinetune opened.
class Keys {
 public:
  Keys(const Json& space, const Json& base) {
    open(base, true);
    const Json below = choices_;
    open(space, false);
    for (const auto& [key, value] : below.items()) {
      if (!choices_.contains(key)) choices_[key] = value;
    }
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
      if (same(key, "FastFinetune") && value.is_object()) {
        for (const auto& [name, inner] : value.items()) fine_tuning_[name] = single ? Json::array({inner}) : choices_of(inner);
      } else if (same(key, "extra_options") && value.is_object()) {
        open(value, single);
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
  Translator(const Json& space, const Json& base) : keys_(space, base) {}

  Translation run() {
    types();
    methods();
    transforms();
    fine_tuning();
    names();
    for (const auto& [key, choices] : keys_.rest().items()) {
      if (is_one_of(key, without_effect)) {
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
      out_.space[side + "_params"] = {{"symmetric", given(symmetric, Json::array({side == "weight"}))}, {"only_if", side}};
    }
    if (const Json channel = keys_.take("per_channel"); !channel.is_null()) {
      Json granularity = Json::array();
      for (const Json& flag : channel) granularity.push_back(flag == true ? "Channel" : "Tensor");
      out_.space["weight_params"]["quant_granularity"] = granularity;
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
      if (!constant.is_null() && on && !chosen("MinMax").is_null())
        under("moving_average_options", "CalibMovingAverageConstant", constant, true, "minmax_options_CalibMovingAverage");
    } else {
      keys_.take("CalibMovingAverageConstant");
    }
    if (const Json percentile = keys_.take("Percentile"); !percentile.is_null())
      under("percentile_options", "Percentile", percentile, chosen("Percentile"), "calibrate_method");
    if (const Json candidates = keys_.take("PercentileCandidates"); !candidates.is_null())
      under("layerwise_options", "PercentileCandidates", candidates, chosen("LayerWisePercentile"), "calibrate_method");
  }

  void under(const std::string& group, const std::string& key, const Json& choices, const Json& value,
             const std::string& parent) {
    if (value.is_null()) {
      out_.notes.push_back(key + " has no effect: no calibrate_method of the space uses it");
      return;
    }
    out_.space[group] = {{key, choices}, {"only_if", {{parent, value}}}};
  }

  void transforms() {
    for (const char* key : {"include_cle", "include_auto_mp", "include_sq", "enable_npu_cnn"}) {
      const Json choices = keys_.take(key);
      if (choices.is_null() || is_only(choices, false)) continue;
      out_.space[key] = choices;
    }
    const Json alpha = keys_.take("SmoothAlpha");
    if (alpha.is_null()) return;
    if (out_.space.contains("include_sq")) {
      out_.space["smooth_quant_options"] = {{"SmoothAlpha", alpha}, {"only_if", {{"include_sq", true}}}};
    } else {
      out_.notes.push_back("SmoothAlpha has no effect: include_sq is never true");
    }
  }

  void fine_tuning() {
    const Json wanted = given("include_fast_ft", Json::array({false}));
    Json params = keys_.fine_tuning();
    if (is_only(wanted, false)) {
      if (!params.empty()) out_.notes.push_back("FastFinetune has no effect: include_fast_ft is never true");
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
  Translation out_{Json::object(), {}};
};

}  // namespace

bool is_v1(const Json& space) {
  if (!space.is_object()) return false;
  bool v1 = false, pro = false;
  for (const auto& [key, value] : space.items()) {
    // Written as `include_cle: …` beside `activation: …`, some are options of the hierarchical form too.
    v1 = v1 || is_one_of(key, v1_keys);
    pro = pro || is_one_of(key, pro_keys);
  }
  return v1 && !pro;
}

Translation from_v1(const Json& space, const Json& base) {
  return Translator(space, base).run();
}

}  // namespace quasar::tune
