#include "quasar/tune/v1.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/config.hpp"

namespace quasar::tune {
namespace {

std::string last_word(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

bool same(const std::string& a, const std::string& b) {
  return normalized(a) == normalized(b);
}

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

// FastFinetune's CamelCase as the hierarchical form writes it.
std::string snake_case(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (std::isupper(c) && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]))) out += '_';
    out += static_cast<char>(std::tolower(c));
  }
  return out;
}

Json choices_of(const Json& value) {
  return value.is_array() ? value : Json::array({value});
}

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

// S8S8_AAWS: a scheme's words are hierarchical; what v1 calls them.
Json base_of(const Json& quant_config) {
  if (quant_config.is_object()) return quant_config;
  if (!quant_config.is_string())
    throw Error("quant_config is " + quant_config.dump() + ", but must be the name of a scheme or a mapping");
  const Json words = quant::schemes::table().make(quant_config.get<std::string>())->words();
  const auto last = [](const Json& group, const char* key, const Json& fallback) {
    return group.is_object() ? group.value(key, fallback) : fallback;
  };
  const Json activation = words.value("activation_params", Json::object()), weight = words.value("weight_params", Json::object());
  const bool shifts = last(activation, "scale_type", "Float32") == "PowerOf2" || words.value("activation", "") == "XInt8Spec";
  Json base{{"activation_type", words.value("activation", "Int8Spec")}, {"weight_type", words.value("weight", "Int8Spec")}};
  base["calibrate_method"] = (shifts ? "PowerOfTwoMethod." : "CalibrationMethod.") +
                             last(activation, "calibration_method", shifts ? "MinMSE" : "Percentile").get<std::string>();
  base["per_channel"] = last(weight, "quant_granularity", "Tensor") == "Channel";
  base["extra_options"] = {{"ActivationSymmetric", last(activation, "symmetric", shifts)},
                           {"WeightSymmetric", last(weight, "symmetric", true)}};
  return base;
}

const std::vector<std::string> v1_metrics{"L2", "L1", "cos", "psnr", "ssim"};

Json metrics_of(const Json& given) {
  const Json list = given.is_null() ? Json::array({"L2"}) : choices_of(given);
  Json out = Json::array();
  for (const Json& name : list) {
    const auto known =
        std::ranges::find_if(v1_metrics, [&](const auto& m) { return name.is_string() && same(m, name.get<std::string>()); });
    out.push_back(known == v1_metrics.end() ? name : Json("v1_" + *known));
  }
  return out;
}

// NumIterations and LearningRate of an advanced_fastft_search: two elements are the ends of a range.
Json range_of(const std::string& key, const Json& ends) {
  const bool numbers = ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number();
  if (!numbers) throw Error("advanced_fastft_search: " + key + " is " + ends.dump() + ", but must be [least, most]");
  const Json low = std::min(ends[0], ends[1]), high = std::max(ends[0], ends[1]);
  if (same(key, "NumIterations")) return {{"type", "int"}, {"low", low}, {"high", high}};
  return {{"type", "float"}, {"low", low}, {"high", high}, {"log", true}};
}

// Everything but the two ranges is the base configuration's.
Json advanced_space(const Json& space, const Json& base, std::vector<std::string>& notes) {
  Json ranges = Json::object();
  for (const auto& [key, value] : space.items()) {
    if (same(key, "include_fast_ft")) continue;
    if (!same(key, "extra_options") || !value.is_object() || value.size() != 1 || !value.contains("FastFinetune")) {
      throw Error("advanced_fastft_search searches NumIterations and LearningRate of extra_options.FastFinetune only; '" + key +
                  "' belongs into quant_config");
    }
    for (const auto& [name, ends] : value.at("FastFinetune").items()) {
      if (same(name, "NumIterLR"))
        throw Error("advanced_fastft_search: NumIterLR is not applicable; give NumIterations and LearningRate");
      if (!same(name, "NumIterations") && !same(name, "LearningRate"))
        throw Error("advanced_fastft_search: '" + name +
                    "' cannot be searched, only NumIterations and LearningRate; it belongs into quant_config");
      ranges[snake_case(name)] = range_of(name, ends);
    }
  }
  if (ranges.empty()) throw Error("advanced_fastft_search: search_space has neither NumIterations nor LearningRate");
  Json fixed = base;
  fixed["include_fast_ft"] = true;
  if (base.value("include_fast_ft", Json(true)) != true)
    throw Error("advanced_fastft_search needs include_fast_ft: true in quant_config");
  Translation translated = from_v1(Json::object(), fixed);
  notes.insert(notes.end(), translated.notes.begin(), translated.notes.end());
  Json& out = translated.space;
  for (const Json& method : Json(out["algorithms"])) {
    Json& group = out[method.get<std::string>() + "_params"];
    group["only_if"] = {{"algorithms", method}};
    for (const auto& [key, range] : ranges.items()) group[key] = range;
  }
  return out;
}

void read_advanced(Json& words) {
  const Json params = words.value("advanced_fastft_params", Json());
  words.erase("advanced_fastft_params");
  words.erase("advanced_fastft_search");
  if (!params.is_null() && !params.is_object()) throw Error("advanced_fastft_params must be a mapping, not " + params.dump());
  words["search_algo"] = "TPE";
  words["n_trials"] = 10;
  if (params.is_null()) return;
  static const std::vector<std::string> known{"sampler_algo", "direction", "n_trials"};
  for (const auto& [key, value] : params.items()) {
    if (same(key, "sampler_algo"))
      words["search_algo"] = value;
    else if (same(key, "n_trials"))
      words["n_trials"] = value;
    else if (same(key, "direction")) {
      // v1 calls every distance "minimize"; similarities know better.
      if (value != "minimize") words["direction"] = value;
    } else
      throw Error("unknown key 'advanced_fastft_params." + key + "'; known: " + joined(known) + did_you_mean(key, known));
  }
}

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

JobTranslation job_from_v1(const Json& given) {
  JobTranslation out{given, false, {}};
  Json& words = out.words;
  const bool advanced = words.value("advanced_fastft_search", Json(false)) == true;
  const Json quant_config = words.value("quant_config", Json());
  Json spaces = Json::array();
  if (words.contains("search_space") && !words["search_space"].is_null()) spaces.push_back(words["search_space"]);
  const Json several = words.value("search_spaces", Json());
  const bool any = std::ranges::any_of(spaces, is_v1) || (several.is_array() && std::ranges::any_of(several, is_v1));
  if (!any && !advanced && quant_config.is_null()) {
    words.erase("advanced_fastft_search");
    words.erase("advanced_fastft_params");
    words.erase("quant_config");
    return out;
  }
  out.translated = true;
  const Json base = quant_config.is_null() ? Json::object() : base_of(quant_config);
  words.erase("quant_config");
  if (!words.contains("search_evaluator") || words["search_evaluator"].is_null() || words.contains("search_metric"))
    words["search_metric"] = metrics_of(words.value("search_metric", Json()));
  if (advanced) {
    if (spaces.size() != 1 || !several.is_null())
      throw Error("advanced_fastft_search needs one search_space; several are not possible");
    read_advanced(words);
    words["search_space"] = advanced_space(spaces[0], base, out.notes);
    return out;
  }
  words.erase("advanced_fastft_search");
  words.erase("advanced_fastft_params");
  if (!words.contains("search_algo")) words["search_algo"] = "grid_search";
  const auto translate = [&](Json& space) {
    if (!is_v1(space) && !space.empty()) {
      if (!quant_config.is_null()) throw Error("quant_config belongs to v1's spaces; this one is hierarchical: " + space.dump());
      return;
    }
    Translation translated = from_v1(space, base);
    space = std::move(translated.space);
    out.notes.insert(out.notes.end(), translated.notes.begin(), translated.notes.end());
  };
  if (!several.is_null()) {
    for (Json& space : words["search_spaces"]) translate(space);
  } else {
    if (spaces.empty()) words["search_space"] = Json::object();
    translate(words["search_space"]);
  }
  return out;
}

}  // namespace quasar::tune
