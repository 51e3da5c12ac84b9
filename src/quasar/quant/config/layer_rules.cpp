#include "quasar/quant/config/layer_rules.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

// Which of the two keys is read, and how it selects nodes.
struct RuleForm {
  std::string key, selector;
};
const RuleForm by_name{"specific_layer_config", "nodes"}, by_type{"layer_type_config", "op_types"};

std::vector<std::string> names_of(const Json& rule, const RuleForm& form) {
  const Json given = rule.value(form.selector, Json());
  const Json list = given.is_string() ? Json::array({given}) : given;
  std::vector<std::string> names;
  if (list.is_array()) {
    for (const auto& name : list) {
      if (!name.is_string()) throw Error(form.key + "." + form.selector + ": " + name.dump() + " is not a name");
      names.push_back(name.get<std::string>());
    }
  }
  if (names.empty()) throw Error(form.key + ": " + rule.dump() + " names no layers; give " + form.selector + ": [name, …]");
  return names;
}

void check_keys(const Json& rule, const RuleForm& form) {
  const std::vector<std::string> known{"spec",   "params",        "activation", "activation_params",
                                       "weight", "weight_params", form.selector};
  for (const auto& [key, value] : rule.items()) {
    if (std::ranges::find(known, key) == known.end())
      throw Error("unknown key '" + form.key + "." + key + "'; known: " + joined(known) + did_you_mean(key, known));
  }
  if (rule.contains("spec") && (rule.contains("activation") || rule.contains("weight")))
    throw Error(form.key + ": spec stands for both sides; give either spec or activation and weight");
}

// One side of a layer: the rule's words over what the configuration says of all layers.
Scheme side_of(const Json& rule, const std::string& side, const Scheme& usual) {
  const bool own = rule.contains(side);
  if (!own && !rule.contains("spec") && !rule.contains(side + "_params")) return usual;
  Json words = Json::object();
  Json params = scheme_words(usual);
  if (own || rule.contains("spec")) {
    words[side] = own ? rule.at(side) : rule.at("spec");
    params.erase("symmetric");
    if (is_dynamic(words[side]) && side == "weight") words[side] = "Int8Spec";
    if (is_xint8(words[side]) || has_no_parameters(words[side])) params = Json::object();
  } else {
    words[side] = name_of(usual.type);
  }
  for (const auto* group : {"params", side == "weight" ? "weight_params" : "activation_params"}) {
    if (!rule.contains(group)) continue;
    if (!rule.at(group).is_object())
      throw Error(std::string(group) + " of a layer must be a mapping, not " + rule.at(group).dump());
    const auto own_groups = [](const auto& item) { return normalized(item.key()) == "quantgranularity"; };
    const auto& given = rule.at(group).items();
    if (std::ranges::any_of(given, own_groups)) params.erase("group_size");  // that of all layers
    for (const auto& [name, value] : given) {
      if (side == "activation" && group == std::string("params") && normalized(name) == "quantgranularity") continue;
      params[name] = value;
    }
  }
  words[side + "_params"] = params;
  return parse_scheme(words, side);
}

// The schemes of all layers without a rule.
struct Usual {
  const Scheme& activation;
  const Scheme& weight;
};

LayerRule parse_rule(const Json& words, const RuleForm& form, const Usual& usual) {
  if (!words.is_object())
    throw Error(form.key + ": " + words.dump() + " is not a mapping such as {spec: Int16Spec, " + form.selector + ": [name]}");
  check_keys(words, form);
  LayerRule rule{.words = words, .nodes = {}, .op_types = {}};
  (form.selector == "nodes" ? rule.nodes : rule.op_types) = names_of(words, form);
  rule.in_float = words.contains("spec") && words.at("spec").is_null();
  if (rule.in_float) return rule;
  if (!words.contains("spec") && !words.contains("activation") && !words.contains("weight"))
    throw Error(form.key + ": " + words.dump() + " says nothing of types; give spec (null: float), or activation and weight");
  rule.activation = side_of(words, "activation", usual.activation);
  rule.weight = side_of(words, "weight", usual.weight);
  check_sides(rule.activation, rule.weight);
  return rule;
}

// Float, as Python's None and YAML's null come out as keys.
bool is_float_word(const std::string& name) {
  return name.empty() || normalized(name) == "none" || normalized(name) == "null";
}

bool is_spec(const std::string& name) {
  try {
    has_no_parameters(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Quark's form {Int16Spec: [conv1], null: [conv2]} as the rules that it stands for; any other item as it is.
std::vector<Json> rules_in(const Json& item, const RuleForm& form) {
  const auto& names = item.items();
  const bool short_form = item.is_object() && !item.empty() && std::ranges::all_of(names, [](const auto& entry) {
                            return is_float_word(entry.key()) || is_spec(entry.key());
                          });
  if (!short_form) return {item};
  std::vector<Json> out;
  for (const auto& [spec, layers] : item.items())
    out.push_back({{"spec", is_float_word(spec) ? Json() : Json(spec)}, {form.selector, layers}});
  return out;
}

void parse_form(const Json& words, const RuleForm& form, const Usual& usual, std::vector<LayerRule>& out) {
  const Json given = words.value(form.key, Json());
  if (given.is_null()) return;
  std::set<std::string> named;
  for (const auto& item : given.is_array() ? given : Json::array({given})) {
    if (item.is_null()) continue;
    for (const Json& words_of_rule : rules_in(item, form)) {
      LayerRule rule = parse_rule(words_of_rule, form, usual);
      for (const auto* list : {&rule.nodes, &rule.op_types}) {
        for (const auto& name : *list) {
          if (!named.insert(name).second) throw Error(form.key + ": '" + name + "' is named twice");
        }
      }
      out.push_back(std::move(rule));
    }
  }
}

}  // namespace

std::vector<LayerRule> parse_layer_rules(const Json& words, const Scheme& activation, const Scheme& weight) {
  std::vector<LayerRule> out;
  const Usual usual{activation, weight};
  parse_form(words, by_name, usual, out);
  parse_form(words, by_type, usual, out);
  return out;
}

Json to_json(const std::vector<LayerRule>& rules) {
  Json words = Json::object();
  for (const auto& rule : rules) {
    if (rule.model.empty()) words[(rule.op_types.empty() ? by_name : by_type).key].push_back(rule.words);
  }
  return words;
}

std::string key_of(const LayerRule& rule) {
  if (!rule.kind.empty()) return "layer_kinds." + rule.kind;
  if (!rule.model.empty()) return "models." + rule.model;
  return (rule.op_types.empty() ? by_name : by_type).key;
}

const LayerRule* rule_for(const graph::Node& node, const std::vector<LayerRule>& rules) {
  const LayerRule* found = nullptr;
  for (const auto& rule : rules) {
    if (std::ranges::find(rule.nodes, node.name) != rule.nodes.end()) return &rule;
    if (found == nullptr && node.domain.empty() && std::ranges::find(rule.op_types, node.op_type) != rule.op_types.end())
      found = &rule;
  }
  return found;
}

}  // namespace quasar::quant
