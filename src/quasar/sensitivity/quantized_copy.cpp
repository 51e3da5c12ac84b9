#include "quasar/sensitivity/quantized_copy.hpp"

#include <map>

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::tune {
namespace {

class Copying {
 public:
  Copying(const graph::Model& exact, const graph::Index& index, const quant::Plan& plan)
      : exact_(exact), index_(index), plan_(plan), names_(exact) {
    out_.ir_version = exact.ir_version;
    out_.opsets = exact.opsets;
    out_.rest = exact.rest;
    out_.inputs = exact.inputs;
  }

  graph::Model run() {
    for (const auto& node : exact_.nodes) {
      if (plan_.nodes.contains(node.name)) {
        add(node);
      } else {
        out_.nodes.push_back(node);  // gives a constant
      }
    }
    for (const auto& output : exact_.outputs) {
      const std::string &value = output.name, &copy = copies_.at(value);
      out_.outputs.push_back({.name = plan_.values.contains(value) ? add_pair(copy, plan_.params(value)) : copy});
    }
    return std::move(out_);
  }

 private:
  void add(graph::Node node) {
    const quant::NodePlan& plan = plan_.nodes.at(node.name);
    const std::string name = node.name;
    for (const auto& [input, tensor] : plan.replaced) node.inputs.at(input) = add_constant(tensor);
    if (plan.form == quant::Form::dynamic && !node.is("Gather")) node.inputs.front() = add_dynamic_pair(node.inputs.front());
    for (auto& input : node.inputs) {
      if (const auto own = copies_.find(input); own != copies_.end()) {
        input = own->second;
      } else if (plan.form == quant::Form::pairs) {  // others read float values
        input = read(input, name);
      }
    }
    if (plan.weight) replace_constant(node, *plan.weight);
    if (plan.bias) replace_constant(node, *plan.bias);
    for (const auto& constant : plan.constants) replace_constant(node, constant);
    for (const auto* values : {&node.inputs, &node.captures}) {
      for (const auto& value : *values) {
        if (const Tensor* constant = exact_.initializer(value)) out_.initializers[value] = *constant;
      }
    }
    node.name = names_.fresh(node.name + "_copy");
    for (auto& output : node.outputs) {
      if (output.empty()) continue;
      const std::string copy = names_.fresh(output + "_copy");
      copies_[output] = copy;
      output = copy;
    }
    out_.nodes.push_back(std::move(node));
  }

  std::string read(const std::string& value, const std::string& reader) {
    const auto own = plan_.conversions.find(value);
    if (own != plan_.conversions.end() && own->second.contains(reader)) return add_pair(value, own->second.at(reader));
    if (!plan_.values.contains(value)) return value;
    const auto known = pairs_.find(value);
    return known != pairs_.end() ? known->second : pairs_[value] = add_pair(value, plan_.params(value));
  }

  void replace_constant(graph::Node& node, const quant::ConstantPlan& plan) {
    const Tensor& values = *index_.model().initializer(node.inputs[plan.input]);
    const quant::QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
    node.inputs[plan.input] = add_constant(
        quant::dequantize(plan.optimized ? plan.optimized->codes : quant::quantize_within(values, params, plan.limits), params));
  }

  // scale · clip(round(x / scale), low − z, high − z): by Q and DQ for 8 bits, which take less time; 16-bit floats by casts.
  std::string add_pair(const std::string& value, const quant::QuantParams& params) {
    if (quant::is_half(params.type)) return add_cast(add_cast(value, params.type), DataType::float32);
    if (params.type == DataType::int8 || params.type == DataType::uint8) {
      const std::string scale = add_constant(Tensor::scalar(params.scales.front()));
      const std::string zero_point = add_constant(quant::codes_tensor(params.type, {}, params.zero_points));
      return add_node("DequantizeLinear", {add_node("QuantizeLinear", {value, scale, zero_point}), scale, zero_point});
    }
    const quant::Grid grid = quant::grid_of(params.type, false);
    const auto limit = [&](int64_t code) {
      return add_constant(Tensor::scalar(static_cast<float>(code - params.zero_points.front())));
    };
    const std::string scale = add_constant(Tensor::scalar(params.scales.front()));
    const std::string codes = add_node("Round", {add_node("Div", {value, scale})});
    const std::string clipped = add_node("Min", {add_node("Max", {codes, limit(grid.low)}), limit(grid.high)});
    return add_node("Mul", {clipped, scale});
  }

  // The value in uint8 and back, with the range that it has in this run.
  std::string add_dynamic_pair(const std::string& value) {
    const std::string codes = add_node("DynamicQuantizeLinear", {value});
    const std::string scale = names_.fresh("toggled_scale"), zero_point = names_.fresh("toggled_zero_point");
    out_.nodes.back().outputs = {codes, scale, zero_point};
    return add_node("DequantizeLinear", {codes, scale, zero_point});
  }

  std::string add_node(const std::string& type, std::vector<std::string> inputs) {
    std::string output = names_.fresh("toggled_" + type);
    out_.nodes.push_back({.name = names_.fresh("toggled_" + type),
                          .op_type = type,
                          .domain = "",
                          .inputs = std::move(inputs),
                          .outputs = {output}});
    return output;
  }

  std::string add_cast(const std::string& value, DataType type) {
    std::string output = add_node("Cast", {value});
    out_.nodes.back().set({"to", static_cast<int64_t>(type)});
    return output;
  }

  std::string add_constant(Tensor values) {
    std::string name = names_.fresh("toggled_constant");
    out_.initializers[name] = std::move(values);
    return name;
  }

  const graph::Model& exact_;
  const graph::Index& index_;
  const quant::Plan& plan_;
  graph::Names names_;
  graph::Model out_;
  std::map<std::string, std::string> pairs_, copies_;  // value -> what stands for it here
};

}  // namespace

graph::Model quantized_copy(const graph::Model& exact, const graph::Index& index, const quant::Plan& plan) {
  return Copying(exact, index, plan).run();
}

}  // namespace quasar::tune
