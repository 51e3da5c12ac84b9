// Bodies of If, Loop and Scan, open: their nodes stand among the model's, so that whatever looks at nodes and values finds them.
// Models in files and in runtimes are closed; writing closes them.
//
//   If ── then_branch: MatMul ─▶ Relu ─▶ y        MatMul [inside If/then_branch] ─▶ Relu [inside If/then_branch] ─▶ y ─▶ If
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// The domain of the node that stands for a body's beginning: it reads what the operator is given, gives the body's inputs, and
// has their types (attribute `types`, as onnx::TensorProto numbers them). It is in no file.
constexpr const char* entry_domain = "ai.quasar.entry";

// "<node>/<attribute>": how Node::inside names a body.
std::string id_of(const Node& owner, const Body& body);

// The name that a node of a body has in the open model: the body's id before it.
std::string name_inside(const std::string& body, const std::string& name);

bool has_open_bodies(const Model& model);

// The model with all bodies of If, Loop and Scan open, nested ones too. Their constants become initializers of the model, their
// nodes get unique names by name_inside(), values whose name is taken get another one. A node stands behind its bodies' nodes.
// Bodies that hold other operators with graphs in attributes stay closed. Throws Error for a body that cannot be read, and for an
// If whose branches give different types.
Model opened(const Model& model);

// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
bool is_conversion(const Node& node);

// An open model with every node in the body where it will stand once the bodies are closed. Nodes that say nothing of their body
// follow what they read; QuantizeLinear and DynamicQuantizeLinear go to their readers where these stand in branches of If,
// DequantizeLinear goes to each reader's body, because runtimes look for pairs within one graph. They stay there, as those do
// that were in the model when its bodies were opened. A body whose node is not in the model (a piece of it) is part of the
// model's own graph. Throws Error where a node reads values of two bodies of which none is in the other.
Model placed(const Model& model);

// The way back: a model without open bodies, which computes the same. Throws Error as placed() does.
Model closed(const Model& model);

// Nodes that say nothing of their body, as transforms add them, come into the deepest one whose values they read. Throws Error as
// closed() does.
void place_in_bodies(Model& model);

// The values that open bodies give or are given.
std::set<std::string> inner_values(const Model& model);

// The nodes that own the bodies in which `node` stands, the innermost first.
std::vector<const Node*> owners_of(const Node& node, const Index& index);

}  // namespace quasar::graph
