#include "quasar/quant/config/kind_rules.hpp"

#include <algorithm>
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

const std::string all_kinds_key = "layer_kinds", some_word = "k_quant";

constexpr std::array<const char*, 6> kind_names{"query_key_value", "attention_output", "feed_forward", "down", "last", "table"};

LayerKind parse_kind(const std::string& name) {
  const std::vector<std::string> known(kind_names.begin(), kind_names.end());
  const auto same = [&](const std::string& one) { return normalized(one) == normalized(name); };
  const auto found = std::ranges::find_if(known, same);
  if (found == known.end()) throw Error(all_kinds_key + ": unknown kind '" + name + "'" + known_names(name, known));
  return static_cast<LayerKind>(found - known.begin());
}

bool parse_some(const std::string& key, const Json& value) {
  if (value == some_word) return true;
  if (value.is_null() || value == "all") return false;
  throw Error(key + ".layers is " + value.dump() + ", but must be all or " + some_word);
}

// {weight, weight_params, layers}, whichever way it was written.
Json spelled_out(const std::string& key, const Json& value) {
  if (value.is_string()) return {{"weight", value}};
  if (!value.is_object())
    throw Error(key + " is " + value.dump() + ", but must be a specification such as UInt8Spec, or {weight: …, layers: …}");
  const std::vector<std::string> known{"weight", "weight_params", "layers"};
  for (const auto& [name, inner] : value.items()) {
    if (std::ranges::find(known, name) == known.end())
      throw Error("unknown key '" + key + "." + name + "'" + known_names(name, known));
  }
  if (!value.contains("weight")) throw Error(key + " is " + value.dump() + ", but says nothing of weight");
  return value;
}

bool is_float(const Json& spec) {
  return spec.is_null() || (spec.is_string() && spec_word(spec.get<std::string>()) == "float32spec");
}

bool has_real_zero_points(const Scheme& weight) {
  return ranges::table().make(weight.range_method)->of_blocks() == BlockRange::half_quadratic;
}

// As an element of specific_layer_config, without the nodes that it is for.
Json as_layer_rule(LayerKind kind, const Json& words, const Scheme& weight) {
  const Json spec = words.at("weight");
  if (is_float(spec)) return {{"spec", nullptr}};
  Json rule{{"weight", spec}, {"weight_params", words.value("weight_params", Json::object())}};
  if (kind == LayerKind::table) rule["activation"] = "Float32Spec";
  Json& params = rule["weight_params"];
  if (!params.is_object()) return rule;  // told where rules are read
  const bool says =
      std::ranges::any_of(params.items(), [](const auto& item) { return normalized(item.key()) == "calibrationmethod"; });
  const bool wide = bits_of(parse_scheme({{"weight", spec}}, "weight").type) > 4;
  if (!says && has_real_zero_points(weight) && (wide || kind == LayerKind::table)) params["calibration_method"] = "MinMSE";
  return rule;
}

KindRule parse_rule_of(LayerKind kind, const Json& value, const Scheme& activation, const Scheme& weight) {
  const std::string key = all_kinds_key + "." + name_of(kind);
  const Json words = spelled_out(key, value);
  KindRule out{.kind = kind, .some = parse_some(key, words.value("layers", Json())), .words = value, .rule = {}};
  if (out.some && (kind == LayerKind::last || kind == LayerKind::table))
    throw Error(key + ".layers is " + some_word + ", but " + name_of(kind) + " is no part of the layers that are counted");
  try {
    Json rule = as_layer_rule(kind, words, weight);
    rule["nodes"] = {name_of(kind)};
    out.rule = parse_layer_rules({{"specific_layer_config", {rule}}}, activation, weight).front();
  } catch (const Error& error) {
    throw Error(key + ": " + error.what());
  }
  if (kind == LayerKind::table && !out.rule.in_float && has_real_zero_points(out.rule.weight))
    throw Error(key + ".weight_params.calibration_method is " + out.rule.weight.range_method +
                ", whose zero points are no integers: ONNX Runtime has no tables of such codes");
  out.rule.kind = name_of(kind);
  return out;
}

}  // namespace

std::string name_of(LayerKind kind) {
  return kind_names.at(static_cast<size_t>(kind));
}

bool has_more_bits(size_t layer, size_t layers) {
  const size_t eighth = layers / 8;
  return 8 * layer < layers || 8 * layer >= 7 * layers || (layer >= eighth && (layer - eighth) % 3 == 2);
}

std::vector<KindRule> parse_kind_rules(const Json& value, const Scheme& activation, const Scheme& weight) {
  std::vector<KindRule> out;
  if (value.is_null()) return out;
  if (!value.is_object())
    throw Error(all_kinds_key + " is " + value.dump() + ", but must be a mapping such as {last: UInt8Spec, table: UInt8Spec}");
  for (const auto& [name, words] : value.items()) {
    const LayerKind kind = parse_kind(name);
    if (std::ranges::count(out, kind, &KindRule::kind) > 0) throw Error(all_kinds_key + ": '" + name + "' is named twice");
    if (!words.is_null()) out.push_back(parse_rule_of(kind, words, activation, weight));
  }
  std::ranges::sort(out, {}, &KindRule::kind);
  return out;
}

Json to_json(const std::vector<KindRule>& rules) {
  Json words = Json::object();
  for (const auto& rule : rules) words[name_of(rule.kind)] = rule.words;
  return words;
}

}  // namespace quasar::quant
