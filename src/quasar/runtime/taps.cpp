// Looking inside a graph: any value as an output, and what is known of every value without running anything.
#include <set>
#include <unordered_map>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/runtime/weights_apart.hpp"

namespace quasar::runtime {
namespace {

// What the model itself says of its inputs and outputs, by name.
std::unordered_map<std::string, graph::Value> declared(const graph::Model& model) {
  std::unordered_map<std::string, graph::Value> out;
  for (const auto& value : model.inputs) out.emplace(value.name, value);
  for (const auto& value : model.outputs) out.emplace(value.name, value);
  return out;
}

std::vector<std::string> all_values(const graph::Model& model) {
  std::vector<std::string> out;
  for (const auto& input : model.inputs) out.push_back(input.name);
  for (const auto& node : model.nodes) {
    for (const auto& output : node.outputs) {
      if (!output.empty()) out.push_back(output);
    }
  }
  return out;
}

// The outputs as ONNX Runtime infers them before it changes anything.
std::vector<graph::Value> outputs_of(const graph::Model& model) {
  SessionOptions options;
  options.optimization = Optimization::none;
  options.runs = false;
  return Session(apart_for_types(model).model, options).outputs();
}

// ONNX Runtime's interface shows scalars and tensors of unknown rank alike. The Shape of a value tells them apart: its own
// shape is [0] for a scalar, and unknown otherwise.
void find_scalars(const graph::Model& model, std::map<std::string, graph::Value>& types) {
  graph::Model probe = model;
  graph::Names names(model);
  std::map<std::string, std::string> shapes;  // output of the Shape node -> value
  for (const auto& [name, value] : types) {
    if (value.type == DataType::undefined || value.shape) continue;
    const std::string shape = names.fresh(name + "_shape");
    probe.nodes.push_back({names.fresh(shape + "_node"), "Shape", "", {name}, {shape}});
    shapes.emplace(shape, name);
  }
  if (shapes.empty()) return;
  probe.outputs.clear();
  for (const auto& [shape, value] : shapes) probe.outputs.push_back({shape, DataType::int64});
  for (const auto& shape : outputs_of(probe)) {
    if (shape.shape == Shape{0}) types.at(shapes.at(shape.name)).shape = Shape{};
  }
}

}  // namespace

graph::Model tapped(const graph::Model& given, const std::vector<std::string>& values) {
  const graph::Model model = graph::closed(given);
  if (values.empty()) throw Error("no value of the graph was named to look at");
  const std::vector<std::string> known = all_values(model);
  const std::set<std::string> names(known.begin(), known.end());
  const auto types = declared(model);
  graph::Model out = model;
  out.outputs.clear();
  std::set<std::string> seen;
  for (const auto& value : values) {
    if (!names.contains(value) && model.initializer(value) == nullptr) {
      throw Error("the graph has no value '" + value + "'" + did_you_mean(value, known));
    }
    if (!seen.insert(value).second) throw Error("value '" + value + "' was named twice to look at");
    const auto type = types.find(value);
    out.outputs.push_back(type == types.end() ? graph::Value{value} : type->second);
  }
  graph::remove_unused(out);
  return out;
}

std::map<std::string, graph::Value> value_types(const graph::Model& model) {
  const graph::Model closed = graph::closed(model);
  return value_types(closed, all_values(closed));
}

std::map<std::string, graph::Value> value_types(const graph::Model& model, const std::vector<std::string>& named) {
  std::map<std::string, graph::Value> out;
  const std::set<std::string> inner = graph::inner_values(model);
  std::vector<std::string> values = named;
  std::erase_if(values, [&](const std::string& value) { return inner.contains(value); });
  if (values.empty()) return out;
  for (const auto& value : outputs_of(tapped(model, values))) out.emplace(value.name, value);
  find_scalars(graph::closed(model), out);
  return out;
}

}  // namespace quasar::runtime
