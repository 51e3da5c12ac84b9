// Exceptions for single layers: other types than the rest, or float.
//   specific_layer_config: [{spec: Int16Spec, params: {symmetric: true}, nodes: [conv1, …]}]
//   layer_type_config:     [{spec: null, op_types: [MatMul]}]                                  (null: left in float)
// Instead of `spec` for both sides, `activation` and `weight` (with activation_params, weight_params) for one each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

struct LayerRule {
  Json words;                         // as written
  std::vector<std::string> nodes;     // specific_layer_config: names
  std::vector<std::string> op_types;  // layer_type_config
  bool in_float = false;
  Scheme activation = {}, weight = {};
  std::string kind = {};   // of which kind of layer_kinds it was made; "": of none
  std::string model = {};  // the model of a pipeline that it is for (model_rules.hpp); "": it is not for one
  bool operator==(const LayerRule&) const = default;
};

// Reads both keys; `words` has canonical first-level keys, `activation` and `weight` are the schemes of all other layers. What a
// rule does not say of calibration method, granularity and scale type is as in the configuration; symmetry is the type's own.
// Throws Error for unknown keys, values, and a node or type that two rules name.
std::vector<LayerRule> parse_layer_rules(const Json& words, const Scheme& activation, const Scheme& weight);

// Back in the user's words: {specific_layer_config, layer_type_config}, those that there are.
Json to_json(const std::vector<LayerRule>& rules);

// The key under which the user wrote it.
std::string key_of(const LayerRule& rule);

// The rule for a node: one that names it, else one that names its type; nullptr when there is none.
const LayerRule* rule_for(const graph::Node& node, const std::vector<LayerRule>& rules);

}  // namespace quasar::quant
