// The rewriting of a float model into QDQ format. 16-bit codes: QuantizeLinear and DequantizeLinear have them from opset 21 on;
// below, ONNX Runtime's own operators of the same names (domain com.microsoft) stand in, so that the opset need not be raised.
//   x ─Q─DQ─▶ node ─▶ y ─Q─DQ─▶      weights, biases and constants: codes ─DQ─▶ node
#include <algorithm>
#include <set>
#include <unordered_map>

#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/keep_in_float.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_16_bits = 21;
constexpr std::string_view microsoft = "com.microsoft";

bool is_16_bits(DataType type) {
  return type == DataType::int16 || type == DataType::uint16;
}

template <class Code>
Tensor vector_of(const std::vector<int32_t>& values, Shape shape) {
  return Tensor::of(std::move(shape), std::vector<Code>(values.begin(), values.end()));
}

Tensor zero_points_of(const QuantParams& params, const Shape& shape) {
  switch (params.type) {
    case DataType::int8:
      return vector_of<int8_t>(params.zero_points, shape);
    case DataType::uint8:
      return vector_of<uint8_t>(params.zero_points, shape);
    case DataType::int16:
      return vector_of<int16_t>(params.zero_points, shape);
    case DataType::uint16:
      return vector_of<uint16_t>(params.zero_points, shape);
    case DataType::int32:
      return vector_of<int32_t>(params.zero_points, shape);
    default:
      throw Error("values of type " + std::string(name_of(params.type)) + " are not yet supported");
  }
}

class Rewriting {
 public:
  Rewriting(const graph::Model& model, const Plan& plan) : model_(model), plan_(plan), names_(model), out_(model) {}

  graph::Model run() {
    out_.nodes.clear();
    for (const auto& input : model_.inputs) {
      if (plan_.values.contains(input.name)) add_pair(input.name, input.name, names_.fresh(input.name + "_dequantized"));
    }
    for (const auto& node : model_.nodes) rewrite(node);
    drop_unread_constants();
    keep_in_float(out_);
    out_.metadata["quasar.version"] = QUASAR_VERSION;
    out_.metadata["quasar.plan"] = hash_of(plan_);
    out_.metadata["quasar.quantized_nodes"] = std::to_string(plan_.nodes.size());
    graph::verify(out_, "quantization");
    return std::move(out_);
  }

 private:
  void rewrite(graph::Node node) {
    if (plan_.folded.contains(node.name)) return add_pair(node.outputs[0], node.inputs[0], node.outputs[0]);
    const auto found = plan_.nodes.find(node.name);
    const bool quantized = found != plan_.nodes.end();
    if (quantized) {
      for (auto& input : node.inputs) {
        if (const auto pair = dequantized_.find(input); pair != dequantized_.end()) input = pair->second;
      }
      const NodePlan& plan = found->second;
      if (plan.weight) quantize_constant(node, *plan.weight);
      if (plan.bias) quantize_constant(node, *plan.bias);
      for (const auto& constant : plan.constants) quantize_constant(node, constant);
    }
    const std::vector<std::string> outputs = node.outputs;
    for (auto& output : node.outputs) {
      if (quantized && plan_.values.contains(output)) output = names_.fresh(output + "_float");
    }
    const std::vector<std::string> written = node.outputs;
    if (quantized && found->second.simulation) {
      simulate(std::move(node), *found->second.simulation, {out_, names_});
    } else {
      out_.nodes.push_back(std::move(node));
    }
    for (size_t k = 0; k < outputs.size(); k++) {
      if (!plan_.values.contains(outputs[k])) continue;
      add_pair(outputs[k], written[k], quantized ? outputs[k] : names_.fresh(outputs[k] + "_dequantized"));
    }
  }

  // `from` ─Q─DQ─▶ `to`, with the parameters of `value`.
  void add_pair(const std::string& value, const std::string& from, const std::string& to) {
    const QuantParams& params = plan_.values.at(value);
    const auto [scale, zero_point] = add_params(value, params);
    const std::string codes = names_.fresh(value + "_quantized");
    add_node("QuantizeLinear", value, {from, scale, zero_point}, codes, params);
    add_node("DequantizeLinear", value, {codes, scale, zero_point}, to, params);
    if (to != value) dequantized_[value] = to;
  }

  void add_node(const std::string& type, const std::string& value, std::vector<std::string> inputs, const std::string& output,
                const QuantParams& params) {
    graph::Node node{.name = names_.fresh(value + "_" + type),
                     .op_type = type,
                     .domain = domain_for(params.type),
                     .inputs = std::move(inputs),
                     .outputs = {output}};
    if (params.axis >= 0) node.set({"axis", int64_t{params.axis}});
    out_.nodes.push_back(std::move(node));
  }

  std::string domain_for(DataType type) {
    if (!is_16_bits(type) || out_.opset() >= first_opset_of_16_bits) return "";
    out_.opsets.try_emplace(std::string(microsoft), 1);
    return std::string(microsoft);
  }

  std::pair<std::string, std::string> add_params(const std::string& value, const QuantParams& params) {
    const Shape shape = params.axis < 0 ? Shape{} : Shape{static_cast<int64_t>(params.scales.size())};
    const std::string scale = names_.fresh(value + "_scale"), zero_point = names_.fresh(value + "_zero_point");
    out_.initializers[scale] = Tensor::of(shape, params.scales);
    out_.initializers[zero_point] = zero_points_of(params, shape);
    return {scale, zero_point};
  }

  // Nodes that share a constant share its codes when their parameters agree.
  void quantize_constant(graph::Node& node, const ConstantPlan& plan) {
    const std::string value = node.inputs.at(plan.input);
    const Tensor* values = model_.initializer(value);
    if (values == nullptr)
      throw Error("the plan does not fit the model: input " + std::to_string(plan.input) + " of " + node.name +
                  " is not constant");
    for (const auto& [known, result] : constants_[value]) {
      if (known.params == plan.params && known.optimized == plan.optimized) {
        node.inputs[plan.input] = result;
        return;
      }
    }
    const QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
    if (plan.optimized && plan.optimized->codes.shape() != values->shape())
      throw Error("the plan does not fit the model: codes for input " + std::to_string(plan.input) + " of " + node.name +
                  " have shape " + to_string(plan.optimized->codes.shape()) + ", the input has " + to_string(values->shape()));
    const std::string codes = names_.fresh(value + "_quantized"), result = names_.fresh(value + "_dequantized");
    const auto [scale, zero_point] = add_params(value, params);
    out_.initializers[codes] = plan.optimized ? plan.optimized->codes : quantize(*values, params);
    add_node("DequantizeLinear", value, {codes, scale, zero_point}, result, params);
    constants_[value].emplace_back(plan, result);
    node.inputs[plan.input] = result;
  }

  // The float originals, unless float nodes or subgraphs still read them.
  void drop_unread_constants() {
    std::set<std::string_view> read;
    for (const auto& node : out_.nodes) {
      read.insert(node.inputs.begin(), node.inputs.end());
      read.insert(node.captures.begin(), node.captures.end());
    }
    for (const auto& output : out_.outputs) read.insert(output.name);
    for (const auto& [name, results] : constants_) {
      if (!read.contains(name)) out_.initializers.erase(name);
    }
  }

  const graph::Model& model_;
  const Plan& plan_;
  graph::Names names_;
  graph::Model out_;
  std::unordered_map<std::string, std::string> dequantized_;  // value -> what quantized nodes read
  std::unordered_map<std::string, std::vector<std::pair<ConstantPlan, std::string>>>
      constants_;  // constant -> its dequantized forms
};

}  // namespace

graph::Model apply(const graph::Model& model, const Plan& plan) {
  return Rewriting(model, plan).run();
}

}  // namespace quasar::quant
