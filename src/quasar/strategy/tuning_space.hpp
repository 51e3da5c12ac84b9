// The tuning space: how each operator may be quantized, from what the target can do, narrowed by op_type_dict and op_name_dict.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/job/tuning_keys.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::tune {

// One operator that is tuned.
struct TunedNode {
  std::string name, op_type;
  // The first is the default; each as quant::parse_config takes a rule of specific_layer_config.
  std::vector<Json> options;
  std::vector<Json> dynamic = {};                 // approach auto: options with ranges at run time, beside those
  std::vector<std::string> floats = {"float32"};  // types in which it may be left, in the order in which they are tried

  std::vector<Json> all_options() const;  // both kinds
};

struct TuningSpace {
  Json base;                              // the configuration of everything that no rule names
  std::vector<TunedNode> nodes;           // in topological order
  std::vector<std::string> ignored;       // what of the user's wishes the target lacks, in words
  std::vector<std::string> schemes = {};  // approach weight_only: the named configurations, tried first
  // Recipes that stay on: without them operators would stay in float to which the dictionaries leave no float type.
  std::set<std::string> needed_recipes = {};

  // The types in which some operator may be left, in the order in which they are tried.
  std::vector<std::string> floats() const;
};

// Throws Error for a malformed dictionary, an expression that matches no operator, and when nothing is left to quantize.
TuningSpace tuning_space(const TuningKeys& keys, const graph::Model& model, const quant::Target& target);

// As a search space: a parameter "node <name>" each, whose choices are "quantized" (the default option), the other options, and
// with `fall_back` its float types; the recipes that the user has not fixed and that are not needed, with `fall_back` on and off;
// SmoothQuant's alphas; sampling sizes.
Json search_space_of(const TuningSpace& space, const TuningKeys& keys, bool fall_back);

inline constexpr const char* sampling_size = "CalibDataSize";  // the parameter that calibration_sampling_size makes

// Why approach auto is static here, in words; "" where it is not, or another approach is chosen.
std::string idle_auto(const TuningKeys& keys, const graph::Model& model, const quant::Target& target);

// The nodes that the target runs with ranges of their inputs found at run time, by name.
std::set<std::string> dynamic_nodes(const graph::Model& model, const quant::Target& target);

// The named configurations of approach weight_only, in Intel Neural Compressor's order.
const std::vector<std::string>& weight_only_schemes();

}  // namespace quasar::tune
