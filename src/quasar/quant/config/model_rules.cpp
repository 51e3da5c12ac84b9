#include "quasar/quant/config/model_rules.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/named_schemes.hpp"

namespace quasar::quant {
namespace {

const std::string models_key = "models";
const std::vector<std::string> side_keys{"activation", "activation_params", "weight", "weight_params"};

bool is_side_key(const std::string& key) {
  return std::ranges::find(side_keys, key) != side_keys.end();
}

// What the scheme says besides types: only switches can hold for all models at once.
void lift_switches(const std::string& key, const std::string& scheme, const Json& words, Json& whole) {
  for (const auto& [name, value] : words.items()) {
    if (is_side_key(name)) continue;
    if (!value.is_boolean())
      throw Error(key + ": scheme " + scheme + " says " + name +
                  ", which holds for no single model; give this scheme as search_space.scheme, and the other models their own");
    if (!whole.contains(name) || whole[name].is_null()) whole[name] = value;
  }
}

// A specification at least: the name of a scheme is no news here.
void check_named(const std::string& key, const std::string& name) {
  try {
    has_no_parameters(name);
  } catch (const Error& error) {
    throw Error(key + " is '" + name + "', but must be a scheme (`quasar list schemes`" + did_you_mean(name, scheme_names()) +
                ") or a specification: " + error.what());
  }
}

// {activation, activation_params, weight, weight_params}, or {spec} for both.
Json sides_of(const std::string& key, const Json& value, Json& whole) {
  if (value.is_string() && is_scheme(value.get<std::string>())) return sides_of(key, Json{{"scheme", value}}, whole);
  if (value.is_string()) {
    check_named(key, value.get<std::string>());
    const bool in_float = spec_word(value.get<std::string>()) == "float32spec";
    return {{"spec", in_float ? Json() : value}};
  }
  if (!value.is_object())
    throw Error(key + " is " + value.dump() + ", but must be a scheme, a specification or a mapping of both");
  Json out = Json::object();
  if (const Json scheme = value.value("scheme", Json()); !scheme.is_null()) {
    if (!scheme.is_string()) throw Error(key + ".scheme is " + scheme.dump() + ", but must be the name of one");
    const Json words = words_of_scheme(scheme.get<std::string>());
    lift_switches(key, scheme.get<std::string>(), words, whole);
    for (const auto& [name, own] : words.items()) {
      if (is_side_key(name)) out[name] = own;
    }
  }
  for (const auto& [name, own] : value.items()) {
    if (name == "scheme") continue;
    std::vector<std::string> known = side_keys;
    known.emplace_back("scheme");
    if (!is_side_key(name)) throw Error("unknown key '" + key + "." + name + "'" + known_names(name, known));
    if (out.contains(name) && out[name].is_object() && own.is_object()) {
      out[name].update(own);
    } else {
      out[name] = own;
    }
  }
  if (!out.contains("activation") && !out.contains("weight")) throw Error(key + " is " + value.dump() + ", but names no types");
  for (const char* side : {"activation", "weight"}) {
    if (out.contains(side) && out[side].is_null()) out[side] = "Float32Spec";
  }
  return out;
}

}  // namespace

std::vector<LayerRule> take_model_rules(Json& canonical_words) {
  const Json models = canonical_words.value(models_key, Json());
  canonical_words.erase(models_key);
  std::vector<LayerRule> out;
  if (models.is_null()) return out;
  if (!models.is_object())
    throw Error(models_key + " is " + models.dump() + ", but must be a mapping such as {encoder: U8S8_CHANNEL, decoder: W4}");
  for (const auto& [name, value] : models.items()) {
    if (value.is_null()) continue;
    const std::string key = models_key + "." + name;
    Json rule = sides_of(key, value, canonical_words);
    rule["nodes"] = {name};
    try {
      // Apart from what holds for the other layers: the types of a scheme are the same wherever it stands.
      out.push_back(parse_layer_rules({{"specific_layer_config", {rule}}}, parse_scheme(Json::object(), "activation"),
                                      parse_scheme(Json::object(), "weight"))
                        .front());
    } catch (const Error& error) {
      throw Error(key + ": " + error.what());
    }
    out.back().model = name;
    out.back().words = value;
  }
  return out;
}

Json models_json(const std::vector<LayerRule>& rules) {
  Json out;
  for (const auto& rule : rules) {
    if (!rule.model.empty()) out[rule.model] = rule.words;
  }
  return out;
}

}  // namespace quasar::quant
