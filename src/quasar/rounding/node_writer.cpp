#include <algorithm>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune {

NodeWriter::NodeWriter(graph::Model& model, std::map<std::string, graph::Value> types)
    : model_(model), types_(std::move(types)), names_(model) {}

std::string NodeWriter::node(const std::string& type, const std::vector<std::string>& inputs,
                             std::vector<graph::Attribute> attributes) {
  return nodes(type, inputs, std::move(attributes), 1).front();
}

std::vector<std::string> NodeWriter::nodes(const std::string& type, const std::vector<std::string>& inputs,
                                           std::vector<graph::Attribute> attributes, size_t outputs) {
  graph::Node node;
  node.name = names_.fresh("reverse_" + type);
  node.op_type = type;
  node.inputs = inputs;
  for (size_t i = 0; i < outputs; i++) node.outputs.push_back(names_.fresh(node.name + "_value"));
  node.attributes = std::move(attributes);
  model_.nodes.push_back(node);
  return node.outputs;
}

std::string NodeWriter::keep(const std::string& wish, Tensor constant) {
  const std::string name = names_.fresh(wish);
  model_.initializers.emplace(name, std::move(constant));
  return name;
}

std::string NodeWriter::number(float value) {
  return keep("reverse_number", Tensor::scalar(value));
}

std::string NodeWriter::integer(int64_t value) {
  return keep("reverse_integer", Tensor::scalar(value));
}

std::string NodeWriter::integers(const std::vector<int64_t>& values) {
  return keep("reverse_integers", Tensor::of(Shape{static_cast<int64_t>(values.size())}, values));
}

std::string NodeWriter::shape(const std::string& value) {
  return node("Shape", {value});
}

std::string NodeWriter::as_float(const std::string& value) {
  return node("Cast", {value}, {{"to", static_cast<int64_t>(DataType::float32)}});
}

std::string NodeWriter::like(const std::string& value, const std::string& other) {
  return node("Reshape", {value, shape(other)}, {{"allowzero", int64_t{1}}});
}

std::string NodeWriter::zeros(const std::string& value) {
  return node("ConstantOfShape", {shape(value)});
}

std::string NodeWriter::where(const std::string& condition, const std::string& yes, const std::string& no) {
  return node("Where", {condition, yes, no});
}

// From opset 18 on, the axes of ReduceMean are an input, as those of ReduceSum are from 13 on.
std::string NodeWriter::reduced(const std::string& type, const std::string& value, const std::vector<int64_t>& axes) {
  if (type == "ReduceSum" || opset() >= 18) return node(type, {value, integers(axes)});
  return node(type, {value}, {{"axes", axes}});
}

std::string NodeWriter::summed_to(const std::string& gradient, const std::string& value, const std::string& broadcast) {
  if (same_shape(value, broadcast)) return gradient;
  const std::string own = shape(value), full = shape(gradient);
  const std::string missing = subtract(shape(full), shape(own));  // axes that the value does not have
  const std::string ones = node("ConstantOfShape", {missing}, {{"value", Tensor::of(Shape{1}, std::vector<int64_t>{1})}});
  const std::string aligned = node("Concat", {ones, own}, {{"axis", int64_t{0}}});
  const std::string differs = node("Not", {node("Equal", {aligned, full})});
  const std::string axes = node("Reshape", {node("NonZero", {differs}), integers({-1})});
  const std::string sum = node("ReduceSum", {gradient, axes}, {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{1}}});
  return node("Reshape", {sum, own}, {{"allowzero", int64_t{1}}});
}

std::string NodeWriter::numbers(const std::string& value) {
  return like(node("Range", {integer(0), node("Size", {value}), integer(1)}), value);
}

std::string NodeWriter::scattered(const std::string& gradient, const std::string& numbers, const std::string& value) {
  const std::string flat = integers({-1});
  const std::string empty = node("ConstantOfShape", {node("Reshape", {node("Size", {value}), integers({1})})});
  const std::string sums = node("ScatterElements", {empty, node("Reshape", {numbers, flat}), node("Reshape", {gradient, flat})},
                                {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return like(sums, value);
}

std::optional<Shape> NodeWriter::known_shape(const std::string& value) const {
  if (const Tensor* tensor = model_.initializer(value)) return tensor->shape();
  const auto found = types_.find(value);
  return found == types_.end() ? std::nullopt : found->second.shape;
}

std::optional<size_t> NodeWriter::rank(const std::string& value) const {
  const auto shape = known_shape(value);
  return shape ? std::optional(shape->size()) : std::nullopt;
}

DataType NodeWriter::type(const std::string& value) const {
  if (const Tensor* tensor = model_.initializer(value)) return tensor->type();
  const auto found = types_.find(value);
  return found == types_.end() ? DataType::undefined : found->second.type;
}

// Equal in every dimension, by number or by symbol.
bool NodeWriter::same_shape(const std::string& a, const std::string& b) const {
  const auto one = known_shape(a), other = known_shape(b);
  if (!one || !other || one->size() != other->size()) return false;
  const auto symbol = [&](const std::string& value, size_t axis) {
    const auto found = types_.find(value);
    return found == types_.end() || found->second.symbols.size() <= axis ? std::string() : found->second.symbols[axis];
  };
  for (size_t axis = 0; axis < one->size(); axis++) {
    if ((*one)[axis] != (*other)[axis]) return false;
    if ((*one)[axis] < 0 && (symbol(a, axis).empty() || symbol(a, axis) != symbol(b, axis))) return false;
  }
  return true;
}

bool Backward::only_first() const {
  return std::ranges::all_of(gradients.begin() + 1, gradients.end(), [](const std::string& one) { return one.empty(); });
}

}  // namespace quasar::tune
