// Nodes that are quantized without Q/DQ pairs around them: activations stay in float, one operator takes the codes of the
// weights.
//   weights only   MatMul, Gemm -> com.microsoft MatMulNBits: codes of 4 or 8 bits in blocks along the inputs
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// How a configuration quantizes the nodes it holds for.
Form form_of(const Config& config);

// Whether the node has weights that this form could quantize at all, float types aside (others are not worth a remark).
bool has_weights_for(Form form, const graph::Node& node, const graph::Model& model);

// The plan of such a node; nullopt: it stays in float, `why` says why.
std::optional<NodePlan> plan_alone(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why);

// What a rewriting takes from its model: constants by name, names that are free.
struct Workshop {
  const graph::Model& model;                                          // the float model
  std::function<std::string(const std::string&)> fresh;               // a free name like this one
  std::function<std::string(const std::string&, const Tensor&)> add;  // adds an initializer, -> its name
};

// The nodes that stand in for this one; its outputs keep their names. Domains other than ONNX's are to be imported by the caller.
std::vector<graph::Node> rewrite_alone(const graph::Node& node, const NodePlan& plan, const Workshop& workshop);

}  // namespace quasar::quant
