// What the layers of a transformer do, found in the graph and not in names: exporters name nodes in many ways.
//   attention          a Softmax between two products of computed values, or one of the operators that hold both
//   query_key_value    the products that the first of them comes from, and the values that the second multiplies
//   attention_output   the next product behind it
//   down               another product that is added to the stream of states
//   last               the product behind which no other comes, where it is none of these
//   feed_forward       all others
//   table              an embedding: rows of a constant that are not only multiplied (as sines and cosines of positions are)
// Layers are counted from the first: one for each feed-forward part that is added to the stream.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/config/config.hpp"

namespace quasar::quant {

struct LayerPlace {
  LayerKind kind = LayerKind::last;
  size_t layer = 0;  // 0 for last and table
};

struct LayerKinds {
  std::map<std::string, LayerPlace> nodes;  // products with constant matrices, and tables, by name
  size_t layers = 0;
};

LayerKinds find_layer_kinds(const graph::Index& index);

// The configuration with a rule by name for each node that a rule by kind is for, behind its other rules.
Config with_kinds(Config config, const LayerKinds& kinds);

// Kinds for which the configuration has a rule and the model no layers, in words.
std::vector<std::string> notes_on_kinds(const Config& config, const LayerKinds& kinds);

}  // namespace quasar::quant
