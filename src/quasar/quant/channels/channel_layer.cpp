#include "quasar/quant/channels/channel_layer.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

// One value per output, along the last axis.
bool is_vector(const Tensor* bias, size_t outputs) {
  std::string why;
  return ops::is_quantizable_constant(bias, "bias", why) && bias->count() == outputs && !bias->shape().empty() &&
         static_cast<size_t>(bias->shape().back()) == outputs;
}

// false: it has one that is not a vector of constants.
bool find_bias(const graph::Node& node, const graph::Model& model, ChannelLayer& layer) {
  if (!ops::has_input(node, 2)) return true;
  layer.bias = 2;
  return is_vector(ops::constant_input(node, 2, model), layer.outputs);
}

void describe_matrix(const graph::Node& node, const Shape& shape, ChannelLayer& layer) {
  const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
  const bool by_output = node.is("Gemm") && node.integer("transB", 0) != 0;
  layer.transposed = !by_output;
  layer.per_row = columns;
  layer.outputs = by_output ? rows : columns;
  layer.inputs = by_output ? columns : rows;
  layer.group_outputs = layer.outputs;
  layer.group_inputs = layer.inputs;
}

void describe_convolution(const graph::Node& node, const Shape& shape, ChannelLayer& layer) {
  const auto groups = static_cast<size_t>(node.integer("group", 1));
  const auto rows = static_cast<size_t>(shape[0]);
  layer.transposed = node.is("ConvTranspose");
  layer.per_row = static_cast<size_t>(shape[1]);
  layer.plane = count_of(Shape(shape.begin() + 2, shape.end()));
  layer.outputs = layer.transposed ? layer.per_row * groups : rows;
  layer.inputs = layer.transposed ? rows : layer.per_row * groups;
  layer.group_outputs = layer.outputs / groups;
  layer.group_inputs = layer.inputs / groups;
  layer.depthwise = groups > 1 && layer.outputs == groups && layer.inputs == groups;
  layer.axis = 1;
}

}  // namespace

std::optional<ChannelLayer> channel_layer(const graph::Node& node, const graph::Model& model) {
  const bool convolution = node.is("Conv") || node.is("ConvTranspose");
  if (!convolution && !node.is("Gemm") && !node.is("MatMul")) return std::nullopt;
  if (node.is("Gemm") && node.integer("transA", 0) != 0) return std::nullopt;
  const Tensor* weights = ops::constant_input(node, 1, model);
  std::string why;
  if (model.initializer(node.inputs[0]) != nullptr || !ops::is_quantizable_constant(weights, "weights", why)) return std::nullopt;
  const Shape& shape = weights->shape();
  if (convolution ? shape.size() < 3 : shape.size() != 2) return std::nullopt;
  ChannelLayer layer{.node = node.name};
  convolution ? describe_convolution(node, shape, layer) : describe_matrix(node, shape, layer);
  if (!find_bias(node, model, layer)) return std::nullopt;
  return layer;
}

ConstantEdits::ConstantEdits(const graph::Model& model) : model_(model) {}

std::vector<float>& ConstantEdits::values(const std::string& node, size_t input) {
  for (const auto& edit : edits_) {
    if (edit->node == node && edit->input == input) return edit->values;
  }
  const auto found = std::ranges::find(model_.nodes, node, &graph::Node::name);
  if (found == model_.nodes.end()) throw Error("there is no node '" + node + "'");
  const Tensor& tensor = *model_.initializer(found->inputs.at(input));
  const auto values = tensor.as<float>();
  edits_.push_back(std::make_unique<Edit>(Edit{node, input, tensor.shape(), {values.begin(), values.end()}}));
  return edits_.back()->values;
}

void ConstantEdits::widen(const std::string& node, size_t input, size_t count) {
  auto& own = values(node, input);
  own.resize(count, own.front());
  for (const auto& edit : edits_) {
    if (edit->node == node && edit->input == input) edit->shape = {static_cast<int64_t>(count)};
  }
}

graph::Model ConstantEdits::finish() && {
  graph::Model out = model_;
  const graph::Index index(model_);
  graph::Names names(model_);
  for (const auto& edit : edits_) {
    graph::Node& node = *std::ranges::find(out.nodes, edit->node, &graph::Node::name);
    std::string& name = node.inputs[edit->input];
    if (graph::readers(name, index) > 1) name = names.fresh(name + "_of_" + edit->node);
    out.initializers[name] = Tensor::of(edit->shape, edit->values);
  }
  graph::remove_unused(out);
  return out;
}

}  // namespace quasar::quant
