// Recipes: parts of a network that are often too sensitive, switched off by name (Intel Neural Compressor's words).
//   first_conv_or_matmul_quantization   the first weighted layer, in the graph's order
//   last_conv_or_matmul_quantization    the last one
//   pre_post_process_quantization       what no weighted layer stands before, and what none comes behind
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::quant {

std::vector<std::string> recipe_keys();

// The recipes that the words switch off (each is on unless it is false), from the keys themselves and from {recipes: {…}}.
// Throws Error for values that are not true, false or null, and for unknown recipes.
std::set<std::string> recipes_off(const Json& words);

// The nodes that stay in float without these recipes. `candidates`: nodes that could be quantized, with their roles.
std::set<std::string> left_by_recipes(const std::set<std::string>& off, const graph::Index& index,
                                      const std::map<std::string, ops::Roles>& candidates);

}  // namespace quasar::quant
