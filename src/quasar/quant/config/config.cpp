#include "quasar/quant/config/config.hpp"

#include <algorithm>
#include <utility>

#include "quasar/base/names.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/config_keys.hpp"
#include "quasar/quant/config/model_rules.hpp"
#include "quasar/quant/config/option_keys.hpp"
#include "quasar/quant/config/recipes.hpp"

namespace quasar::quant {
namespace {

const std::string scheme_key = "scheme", after_key = "after_rounding", exclude_key = "exclude",
                  rules_key = "specific_layer_config", kinds_key = "layer_kinds";

Json as_list(const Json& value) {
  if (value.is_null()) return Json::array();
  return value.is_array() ? value : Json::array({value});
}

// The configuration's two, and those of its layer rules.
std::vector<Scheme*> schemes_of(Config& config) {
  std::vector<Scheme*> all{&config.activation, &config.weight};
  for (auto& rule : config.layers) all.insert(all.end(), {&rule.activation, &rule.weight});
  for (auto& kind : config.kinds) all.insert(all.end(), {&kind.rule.activation, &kind.rule.weight});
  if (config.products) all.push_back(&config.products->weight);
  return all;
}

std::vector<Scheme*> values_of(Config& config) {
  std::vector<Scheme*> all{&config.activation};
  for (auto& rule : config.layers) all.push_back(&rule.activation);
  for (auto& kind : config.kinds) all.push_back(&kind.rule.activation);
  return all;
}

void parse_range_key(Config& config, const RangeKey& range, const Json& value) {
  if (value.is_null()) return;
  for (Scheme* scheme : range.of_values ? values_of(config) : schemes_of(config)) {
    if (scheme->range_method == range.method) scheme->range_options[range.option] = value;
  }
  // Checked even where the method does not use it, so that a wrong value never passes.
  const auto& entry = ranges::table().find(range.method).second;
  try {
    const Options checked(entry.options, Json{{range.option, value}}, range.method);
  } catch (const Error& e) {
    throw Error(range.key + ": " + e.what());
  }
}

void parse_exclude(Config& config, const Json& value) {
  if (value.is_null()) return;
  for (const auto& item : as_list(value)) {
    if (item.is_null()) continue;
    if (!item.is_string() && !item.is_object()) {
      const bool ends = item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string();
      throw Error(
          "exclude: " + item.dump() + " is not a name, {regex: …}, {op_type: …} or {from: …, to: …}" +
          (ends ? "; did you mean {from: " + item[0].get<std::string>() + ", to: " + item[1].get<std::string>() + "}?" : ""));
    }
    config.exclude.push_back(item);
  }
}

const std::string* match(const std::vector<std::string>& keys, const std::string& name) {
  for (const auto& key : keys) {
    if (normalized(key) == normalized(name)) return &key;
  }
  return nullptr;
}

// reduce_range is ONNX Runtime's word for one of the choices; false leaves the others open.
void parse_saturation_key(Config& config, const std::string& key, const Json& value) {
  if (value.is_null()) return;
  std::optional<Saturation> wanted;
  if (key == "saturation") wanted = parse_saturation(value);
  if (key == "reduce_range" && parse_switch(key, value)) wanted = Saturation::reduce_range;
  if (!wanted) return;
  if (config.saturation && config.saturation != wanted)
    throw Error("reduce_range is true, but saturation is " +
                name_of(*wanted == Saturation::reduce_range ? *config.saturation : *wanted));
  config.saturation = wanted;
}

void parse_option(Config& config, const std::string& key, const Json& value) {
  if (key == "exclude") return parse_exclude(config, value);
  if (key == "quant_format" && !value.is_null()) config.format = parse_format(value);
  if (key == "saturation" || key == "reduce_range") parse_saturation_key(config, key, value);
  if (key == "high_precision_dtype" && !value.is_null()) config.high_precision = parse_high_precision(value);
  if (key == "FixShapes" && !value.is_null()) config.fixed_shapes = parse_fixed_shapes(value);
  if (key == "OptimizeModel" && !value.is_null()) config.optimize_model = parse_switch(key, value);
  if (key == "use_external_data_format" && !value.is_null()) config.external_data = parse_switch(key, value);
  if (key == "CalibDataSize") {
    if (value.is_null()) return;
    if (!value.is_number_integer() || value.get<int64_t>() < 1)
      throw Error("CalibDataSize is " + value.dump() + ", but must be a whole number of at least 1");
    config.calib_data_size = value.get<size_t>();
  }
  for (const auto& range : range_keys()) {
    if (key == range.key) return parse_range_key(config, range, value);
  }
  parse_option_key({config.switches, config.selection, config.exclude, config.max_loop_num}, key, value);
}

// MatMulNBits: its codes are chosen alike, whether its activations are floats or found at run time.
bool in_blocks(const Scheme& weight) {
  return weight.granularity == Granularity::group || bits_of(weight.type) < 8;
}

// Optimized rounding chooses codes, and scales freely.
void check_rounding(const Config& config) {
  if (!config.rounding.optimizes()) return;
  const std::string what = "algorithms: " + config.rounding.method;
  if (is_half(config.weight.type))
    throw Error(what + " chooses integer codes, but weight is " + std::string(name_of(config.weight.type)));
  if (config.activation.dynamic && !in_blocks(config.weight))
    throw Error(
        what +
        " needs activations whose scales are known before the run, not DynamicSpec, or weights of 2 or 4 bits or in groups "
        "(quant_granularity: Group); leave algorithms out");
  if (rounding::table().make(config.rounding.method, config.rounding.options)->weights_only() &&
      config.activation.type != DataType::float32 && !config.activation.dynamic)
    throw Error(what + " is for weights only (activation: Float32Spec); include_sq scales channels of quantized activations");
  if (ranges::table().make(config.weight.range_method, config.weight.range_options)->of_blocks() == BlockRange::half_quadratic)
    throw Error(what + " chooses codes on integer zero points, and calibration_method " + config.weight.range_method +
                " has others; use MinMSE, or leave algorithms out");
  if (config.weight.scale_type == ScaleType::int16)
    throw Error(what + " refines weight scales and would leave scale_type Int16; use Float32 or PowerOf2");
}

// scheme: NAME stands for the words of a named configuration; what is given beside it comes before them.
void expand_scheme(Json& words) {
  if (!words.contains(scheme_key)) return;
  const Json name = words[scheme_key];
  words.erase(scheme_key);
  if (name.is_null()) return;
  if (!name.is_string())
    throw Error("scheme is " + name.dump() + ", but must be the name of one: " + joined(schemes::table().names()));
  Json all = words_of_scheme(name.get<std::string>());
  for (const auto& alias : option_aliases()) {
    const bool given = words.contains(alias.key) && !words[alias.key].is_null();
    if (given && all.contains(alias.group)) all[alias.group].erase(alias.parameter);
  }
  for (const auto& [key, value] : words.items()) {
    if (all.contains(key) && all[key].is_object() && value.is_object()) {
      all[key].update(value);
    } else {
      all[key] = value;
    }
  }
  words = std::move(all);
}

// What stands under after_rounding, {exclude, specific_layer_config}, taken out of the words; its rules stand before the others.
Json take_after_rounding(Json& words) {
  const Json after = words.value(after_key, Json());
  words.erase(after_key);
  if (after.is_null()) return Json::object();
  if (!after.is_object()) throw Error(after_key + " is " + after.dump() + ", but must be a mapping such as {exclude: [conv1]}");
  for (const auto& [key, value] : after.items()) {
    if (key != exclude_key && key != rules_key)
      throw Error(after_key + ": unknown key '" + key + "'" + known_names(key, {exclude_key, rules_key}));
  }
  Json rules = as_list(after.value(rules_key, Json()));
  if (rules.empty()) return after;
  for (const Json& rule : as_list(words.value(rules_key, Json()))) rules.push_back(rule);
  words[rules_key] = std::move(rules);
  return after;
}

}  // namespace

Config parse_config(const Json& words) {
  if (!words.is_object()) throw Error("a configuration must be a mapping, not " + words.dump());
  const std::vector<std::string> keys = config_keys();
  Json canonical_words = Json::object();
  for (const auto& [name, value] : words.items()) {
    const std::string wanted = normalized(name) == "calibrationsamplingsize" ? "CalibDataSize" : name;
    const std::string* key = match(keys, wanted);
    if (key == nullptr) {
      const std::string hint = hint_of_foreign_key(name);
      throw Error("unknown key '" + name + "' in the configuration" + (hint.empty() ? known_names(name, keys) : hint));
    }
    if (canonical_words.contains(*key)) throw Error("key '" + name + "' is given twice (as '" + *key + "' too)");
    canonical_words[*key] = value;
  }
  expand_scheme(canonical_words);
  expand_aliases(canonical_words);
  Config config;
  const Json after = take_after_rounding(canonical_words);
  config.form = take_model_form(canonical_words);
  const std::vector<LayerRule> models = take_model_rules(canonical_words);
  config.activation = parse_scheme(canonical_words, "activation");
  config.weight = parse_scheme(canonical_words, "weight");
  check_sides(config.activation, config.weight);
  config.layers = parse_layer_rules(canonical_words, config.activation, config.weight);
  config.layers.insert(config.layers.end(), models.begin(), models.end());
  config.kinds = parse_kind_rules(canonical_words.value(kinds_key, Json()), config.activation, config.weight);
  if (config.form == ModelForm::dynamic_products) config.products = rule_of_products(config.activation, config.weight);
  config.after_rounding.rules = parse_layer_rules(after, config.activation, config.weight).size();
  for (const auto& [key, value] : canonical_words.items()) parse_option(config, key, value);
  const size_t excluded = config.exclude.size();
  parse_exclude(config, after.value(exclude_key, Json()));
  config.after_rounding.excluded = config.exclude.size() - excluded;
  check_method_options(config.activation, "activation");
  check_method_options(config.weight, "weight");
  for (Scheme* scheme : schemes_of(config)) check_method_options(*scheme, "a layer of its own");
  config.transforms = parse_transforms(canonical_words);
  config.mixed = parse_mixed_precision(canonical_words, config.activation, config.weight);
  config.tensors = parse_tensor_overrides(canonical_words.value("TensorQuantOverrides", Json()));
  config.recipes_off = recipes_off(canonical_words);
  config.rounding = parse_rounding(canonical_words);
  check_option_keys(config.switches, config.activation, config.weight);
  check_rounding(config);
  check_format(config.format, config.activation, config.weight, config.switches);
  return config;
}

Config while_rounding(Config config) {
  const auto [excluded, rules] = std::exchange(config.after_rounding, {});
  config.exclude.resize(config.exclude.size() - excluded);
  config.layers.erase(config.layers.begin(), config.layers.begin() + static_cast<ptrdiff_t>(rules));
  return config;
}

const LayerRule* rule_for(const graph::Node& node, const Config& config) {
  const LayerRule* own = rule_for(node, config.layers);
  if (own != nullptr || !config.products) return own;
  return rule_for(node, std::vector<LayerRule>{*config.products}) != nullptr ? &*config.products : nullptr;
}

bool needs_no_samples(const Config& config) {
  const auto is_free = [](const Scheme& scheme) { return scheme.dynamic || !is_integer(scheme.type); };
  const auto rule_is_free = [&](const LayerRule& rule) { return rule.in_float || is_free(rule.activation); };
  return is_free(config.activation) && std::ranges::all_of(config.layers, rule_is_free) && config.transforms.empty() &&
         !config.rounding.optimizes();
}

std::string contradiction(const Json& words) {
  try {
    parse_config(words);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

Json to_json(const Config& config) {
  Json words{{"activation", spec_name(config.activation)},
             {"activation_params", scheme_words(config.activation)},
             {"weight", spec_name(config.weight)},
             {"weight_params", scheme_words(config.weight)}};
  for (const auto& range : range_keys()) {
    const auto write = [&](const Scheme& scheme) {
      if (scheme.range_method == range.method) words[range.key] = scheme.range_options.at(range.option);
    };
    const auto write_weight = [&](const Scheme& scheme) {
      if (!range.of_values) write(scheme);
    };
    for (const auto& kind : config.kinds) write_weight(kind.rule.weight), write(kind.rule.activation);
    for (const auto& rule : config.layers) write_weight(rule.weight), write(rule.activation);
    write_weight(config.weight), write(config.activation);
  }
  words.update(to_json(config.rounding));
  words.update(option_words(config.selection, config.switches, config.max_loop_num));
  const Config rounded = while_rounding(config);
  words.update(to_json(rounded.layers));
  if (const Json models = models_json(rounded.layers); !models.is_null()) words["models"] = models;
  if (!config.kinds.empty()) words[kinds_key] = to_json(config.kinds);
  words.update(to_json(config.transforms));
  if (config.form != ModelForm::all) words["form"] = name_of(config.form);
  if (config.mixed) words.update(to_json(*config.mixed));
  for (const auto& [name, own] : config.tensors) words["TensorQuantOverrides"][name] = own.words;
  for (const auto& recipe : config.recipes_off) words[recipe] = false;
  if (!rounded.exclude.empty()) words[exclude_key] = rounded.exclude;
  if (config.after_rounding.excluded > 0)
    words[after_key][exclude_key] = std::vector<Json>(config.exclude.begin() + std::ssize(rounded.exclude), config.exclude.end());
  for (size_t i = 0; i < config.after_rounding.rules; i++) words[after_key][rules_key].push_back(config.layers[i].words);
  if (config.calib_data_size) words["CalibDataSize"] = *config.calib_data_size;
  if (config.saturation) words["saturation"] = name_of(*config.saturation);
  if (config.format != Format::qdq) words["quant_format"] = name_of(config.format);
  if (config.high_precision) words["high_precision_dtype"] = name_of_high_precision(*config.high_precision);
  if (!config.fixed_shapes.empty()) words["FixShapes"] = to_json(config.fixed_shapes);
  if (!config.optimize_model) words["OptimizeModel"] = false;
  if (config.external_data) words["use_external_data_format"] = true;
  return words;
}

}  // namespace quasar::quant
