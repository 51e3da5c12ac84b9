// The tuning space: how each operator may be quantized, from what the target can do, narrowed by op_type_dict and op_name_dict.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/tune/tuning_keys.hpp"

namespace quasar::tune {

// One operator that is tuned.
struct TunedNode {
  std::string name, op_type;
  std::vector<Json> options;  // the first is the default; each as quant::parse_config takes a rule of specific_layer_config
  bool may_fall_back = true;  // false: the user's dictionaries leave fp32 out
};

struct TuningSpace {
  Json base;                              // the configuration of everything that no rule names
  std::vector<TunedNode> nodes;           // in topological order
  std::vector<std::string> ignored;       // what of the dictionaries the target lacks, in words
  std::vector<std::string> schemes = {};  // approach weight_only: the named configurations, tried first
};

// Throws Error for a malformed dictionary, an expression that matches no operator, and when nothing is left to quantize.
TuningSpace tuning_space(const TuningKeys& keys, const graph::Model& model, const quant::Target& target);

// As a search space: a parameter "node <name>" each, whose choices are "quantized" (the default option), the other options, and
// "float32" with `fall_back`; the recipes that the user has not fixed; SmoothQuant's alphas.
Json search_space_of(const TuningSpace& space, const TuningKeys& keys, bool fall_back);

}  // namespace quasar::tune
