// The reverse pass: how a loss at a model's outputs changes with values inside, as ONNX nodes behind the model's own. One file
// per operator family in gradients/.
//
// For y = f(x) and the gradient g = ∂L/∂y, a family writes ∂L/∂x = gᵀ ∂f/∂x (Griewank and Walther 2008, "Evaluating Derivatives",
// chapter 3). Shapes are looked up when the nodes run, so that they need not be known before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// Writes nodes behind those of a model. Its functions give the name of the value that they write.
class NodeWriter {
 public:
  // `types`: of the model's values, as ONNX Runtime infers them. The model must outlive the writer.
  NodeWriter(graph::Model& model, std::map<std::string, graph::Value> types);

  std::string node(const std::string& type, const std::vector<std::string>& inputs,
                   std::vector<graph::Attribute> attributes = {});
  // A node with several outputs.
  std::vector<std::string> nodes(const std::string& type, const std::vector<std::string>& inputs,
                                 std::vector<graph::Attribute> attributes, size_t outputs);
  std::string number(float value);                           // a scalar
  std::string integer(int64_t value);                        // a scalar
  std::string integers(const std::vector<int64_t>& values);  // a vector
  std::string shape(const std::string& value);
  std::string as_float(const std::string& value);
  std::string like(const std::string& value, const std::string& other);  // in another value's shape
  std::string zeros(const std::string& value);                           // as many as another value has, in its shape
  std::string where(const std::string& condition, const std::string& yes, const std::string& no);
  std::string add(const std::string& a, const std::string& b) { return node("Add", {a, b}); }
  std::string subtract(const std::string& a, const std::string& b) { return node("Sub", {a, b}); }
  std::string multiply(const std::string& a, const std::string& b) { return node("Mul", {a, b}); }
  std::string divide(const std::string& a, const std::string& b) { return node("Div", {a, b}); }
  // ReduceSum or ReduceMean over these axes, which stay with one element.
  std::string reduced(const std::string& type, const std::string& value, const std::vector<int64_t>& axes);
  // A gradient in the shape that broadcasting gave, summed to the shape of the value that was broadcast.
  std::string summed_to(const std::string& gradient, const std::string& value, const std::string& broadcast);
  // The numbers of a value's elements, in its shape.
  std::string numbers(const std::string& value);
  // Σ of a gradient's elements at the places that `numbers` (in its shape, int64) say, in the value's shape.
  std::string scattered(const std::string& gradient, const std::string& numbers, const std::string& value);

  std::optional<size_t> rank(const std::string& value) const;
  std::optional<Shape> known_shape(const std::string& value) const;  // dimensions below 0: not fixed
  DataType type(const std::string& value) const;                     // undefined: no tensor, or not known
  int64_t opset() const { return model_.opset(); }
  const Tensor* constant(const std::string& value) const { return model_.initializer(value); }

 private:
  std::string keep(const std::string& wish, Tensor constant);
  bool same_shape(const std::string& a, const std::string& b) const;

  graph::Model& model_;
  std::map<std::string, graph::Value> types_;
  graph::Names names_;
};

// A node of the model, and the gradients of its outputs ("": nothing depends on the output).
struct Backward {
  const graph::Node& node;
  const std::vector<std::string>& gradients;
  NodeWriter& writer;

  const std::string& x(size_t input = 0) const { return node.inputs.at(input); }
  const std::string& y(size_t output = 0) const { return node.outputs.at(output); }
  const std::string& g(size_t output = 0) const { return gradients.at(output); }
  bool only_first() const;  // no output but the first has a gradient
};

// One family of operators.
class Gradient {
 public:
  virtual ~Gradient() = default;
  virtual std::vector<std::string_view> types() const = 0;  // ONNX's own domain
  // The gradient of an input that is a float tensor; "": it is zero everywhere. nullopt: this family has none for such a node.
  virtual std::optional<std::string> of_input(const Backward& backward, size_t input) const = 0;
};

// The family that serves a node; nullptr: none.
const Gradient* gradient_of(const graph::Node& node);

// The model with a reverse pass behind it.
struct ReversePass {
  graph::Model model;                            // opset 16 or newer; its outputs are still the given model's
  std::map<std::string, std::string> gradients;  // of the values asked for: those that have one
  std::map<std::string, size_t> missing;         // operator types without gradient: how many nodes of each stopped the pass
};

// The gradients of Σ seedᵀ output over the model's float outputs, with respect to `values`. `seeds`: writes for each output the
// value that multiplies it, of its shape. A value behind which an operator has no gradient has none.
ReversePass reverse_pass(const graph::Model& model, const std::vector<std::string>& values,
                         const std::function<std::string(NodeWriter& writer, const std::string& output)>& seeds);

}  // namespace quasar::tune

namespace quasar::tune::gradients {
const Table<Gradient>& table();
}
