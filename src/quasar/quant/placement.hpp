// Where Q/DQ pairs stand: which nodes are quantized, and what each value between them is to quantization.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

struct Placement {
  std::map<std::string, ops::Roles> nodes;     // the nodes that are quantized
  std::map<std::string, std::string> skipped;  // those that could be, with the reason
  std::set<std::string> chosen;                // of the skipped: by the configuration's own choice
  std::set<std::string> values;                // inputs and outputs of quantized nodes, all but constants
  std::map<std::string, NodePlan> alone;       // quantized without pairs: weights only
  std::map<std::string, std::string> biased;   // sum of a product and a constant vector -> the product's value, kept wide
  std::map<std::string, int64_t> softmaxes;    // Softmax of 8 bits -> how many elements its axis has (integer_softmax)

  const ops::Roles* roles(const graph::Node* node) const;  // nullptr: not quantized, or no node
};

// Weighted sums and elementwise operators are quantized wherever target and configuration allow it; movements and activations
// where their input comes from a quantized node (movements also between two values that are quantized for others), so that no
// pair stands where nobody gains from it. `barred`: values that no grid can hold; nodes that read or write one stay in float.
// `seen`: gives the ranks of values. `memo`: of the model; null: none. `left`: nodes that stay in float, with the reason.
Placement place(const graph::Index& index, const Config& config, const Target& target, const stats::Statistics& seen = {},
                const std::set<std::string>& barred = {}, WeightMemo* memo = nullptr,
                const std::map<std::string, std::string>& left = {});

// The nodes that may be quantized under this configuration, by name, whatever the samples are: not what would be in the way of
// every one of them, a Softmax over an axis of one element or a sum that only nodes in float read.
std::set<std::string> placeable(const graph::Index& index, const Config& config, const Target& target);

}  // namespace quasar::quant
