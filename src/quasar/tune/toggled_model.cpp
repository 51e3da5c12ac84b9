#include "quasar/tune/toggled_model.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "quasar/ops/op.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/scheme.hpp"

namespace quasar::tune {
namespace {

class Instrumented {
 public:
  // `with_locals`: what is measured of each unit becomes an output; ONNX Runtime computes it in every run then.
  Instrumented(const graph::Model& model, const quant::Plan& plan, bool with_locals)
      : index_(model), plan_(plan), with_locals_(with_locals), names_(model), out_(model) {
    for (const auto& output : model.outputs) {
      if (output.type == DataType::float32) outputs.push_back(output.name);
    }
    for (const auto& node : model.nodes) {
      if (const auto found = plan.nodes.find(node.name); found != plan.nodes.end()) add_unit(node, found->second);
    }
    for (auto& node : out_.nodes) {
      for (auto& output : node.outputs) {
        if (const auto renamed = exact_.find(output); renamed != exact_.end() && !node.is("Where")) output = renamed->second;
      }
    }
    graph::sort_nodes(out_);
  }

  std::vector<Unit> units;
  std::vector<std::string> outputs, locals;
  graph::Model take() { return std::move(out_); }

 private:
  // The node's roles if it is a unit by itself.
  std::optional<ops::Roles> unit_roles(const graph::Node& node) const {
    std::string why;
    auto roles = ops::roles_of(node, index_.model(), why);
    const bool is_unit = roles && (roles->kind == ops::Kind::compute || roles->kind == ops::Kind::elementwise);
    return is_unit ? std::move(roles) : std::nullopt;
  }

  void add_unit(const graph::Node& node, const quant::NodePlan& plan) {
    const auto roles = unit_roles(node);
    if (!roles) return;
    std::string result = add_copy(node, plan), value = node.outputs.front();
    while (!plan_.values.contains(value)) {  // what the kernel absorbs
      const graph::Node* reader = quant::sole_reader(value, index_);
      if (reader == nullptr || !plan_.nodes.contains(reader->name) || reader->inputs.front() != value) break;
      if (unit_roles(*reader)) break;  // a bias's Add: a unit of its own, which writes its value itself
      replaced_[value] = result;
      result = add_copy(*reader, plan_.nodes.at(reader->name));
      replaced_.erase(value);
      value = reader->outputs.front();
    }
    if (plan_.values.contains(value)) result = add_pair(result, plan_.params(value));
    const std::string exact = names_.fresh(value + "_exact"), on = names_.fresh(node.name + "_quantized");
    exact_[value] = exact;
    out_.inputs.push_back({.name = on, .type = DataType::boolean, .shape = Shape{}});
    out_.nodes.push_back(
        {.name = names_.fresh("Where"), .op_type = "Where", .domain = "", .inputs = {on, result, exact}, .outputs = {value}});
    if (with_locals_) {
      add_local(add_sum(add_node("Sub", {exact, result})), DataType::float32);
      add_local(add_sum(exact), DataType::float32);
      add_local(add_node("Size", {exact}), DataType::int64);
    }
    units.push_back({.node = node.name, .op_type = node.op_type, .inputs_per_output = products_of(node, plan, *roles)});
  }

  double products_of(const graph::Node& node, const quant::NodePlan& plan, const ops::Roles& roles) const {
    if (!plan.weight || roles.kind != ops::Kind::compute) return 1;
    const Tensor& weights = *index_.model().initializer(node.inputs[plan.weight->input]);
    const int64_t channels =
        roles.weight->axis ? weights.shape()[static_cast<size_t>(*roles.weight->axis)] : weights.shape().back();
    return static_cast<double>(weights.count()) / static_cast<double>(std::max<int64_t>(channels, 1));
  }

  // The node again, with quantized inputs and constants. -> its output
  std::string add_copy(graph::Node node, const quant::NodePlan& plan) {
    const std::string name = node.name;
    for (const auto& [input, tensor] : plan.replaced) node.inputs.at(input) = add_constant(tensor);
    if (plan.form == quant::Form::dynamic && !node.is("Gather")) node.inputs.front() = add_dynamic_pair(node.inputs.front());
    for (auto& input : node.inputs) {
      if (plan.form != quant::Form::pairs) break;  // it reads float values
      if (const auto other = replaced_.find(input); other != replaced_.end()) {
        input = other->second;
      } else if (const auto own = plan_.conversions.find(input); own != plan_.conversions.end() && own->second.contains(name)) {
        input = add_pair(input, own->second.at(name));
      } else if (plan_.values.contains(input)) {
        const auto known = pairs_.find(input);
        const std::string quantized = known == pairs_.end() ? add_pair(input, plan_.params(input)) : known->second;
        pairs_[input] = quantized;
        input = quantized;
      }
    }
    if (plan.weight) replace_constant(node, *plan.weight);
    if (plan.bias) replace_constant(node, *plan.bias);
    for (const auto& constant : plan.constants) replace_constant(node, constant);
    node.name = names_.fresh(node.name + "_copy");
    for (auto& output : node.outputs) {
      if (!output.empty()) output = names_.fresh(output + "_copy");
    }
    out_.nodes.push_back(node);
    return node.outputs.front();
  }

  void replace_constant(graph::Node& node, const quant::ConstantPlan& plan) {
    const Tensor& values = *index_.model().initializer(node.inputs[plan.input]);
    const quant::QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
    node.inputs[plan.input] =
        add_constant(quant::dequantize(plan.optimized ? plan.optimized->codes : quant::quantize(values, params), params));
  }

  // scale · clip(round(x / scale), low − z, high − z): by Q and DQ for 8 bits, which take less time.
  std::string add_pair(const std::string& value, const quant::QuantParams& params) {
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
    const auto known = dynamic_.find(value);
    if (known != dynamic_.end()) return known->second;
    const std::string codes = add_node("DynamicQuantizeLinear", {value});
    const std::string scale = names_.fresh("toggled_scale"), zero_point = names_.fresh("toggled_zero_point");
    out_.nodes.back().outputs = {codes, scale, zero_point};
    return dynamic_[value] = add_node("DequantizeLinear", {codes, scale, zero_point});
  }

  std::string add_sum(const std::string& value) {
    std::string sum = add_node("ReduceSumSquare", {value});
    out_.nodes.back().set({"keepdims", int64_t{0}});
    return sum;
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

  std::string add_constant(Tensor values) {
    std::string name = names_.fresh("toggled_constant");
    out_.initializers[name] = std::move(values);
    return name;
  }

  void add_local(const std::string& name, DataType type) {
    locals.push_back(name);
    out_.outputs.push_back({.name = name, .type = type, .shape = Shape{}});
  }

  graph::Index index_;
  const quant::Plan& plan_;
  const bool with_locals_;
  graph::Names names_;
  graph::Model out_;
  std::map<std::string, std::string> pairs_, replaced_, dynamic_;  // value -> what stands for it in the copies
  std::map<std::string, std::string> exact_;                       // value -> what its producer writes now
};

// Pairs stay as they are: what is between them computes in float.
const runtime::SessionOptions in_float{.integer_kernels = false};

data::Sample with_switches(const data::Sample& sample, const std::vector<bool>& on) {
  data::Sample inputs = sample;
  for (const bool quantized : on) inputs.push_back(Tensor::scalar(quantized));
  return inputs;
}

// What goes wrong in the instrumented model is told apart from other errors.
template <class Work>
auto guarded(Work work) {
  try {
    return work();
  } catch (const ToggledModelFailed&) {
    throw;
  } catch (const Error& e) {
    throw ToggledModelFailed(e);
  }
}

}  // namespace

struct ToggledModel::Locals {
  std::vector<std::string> names;  // of graph outputs; three per unit
  runtime::Session session;
};

ToggledModel::ToggledModel(const graph::Model& model, const quant::Plan& plan) {
  guarded([&] { make(model, plan); });
}

void ToggledModel::make(const graph::Model& model, const quant::Plan& plan) {
  Instrumented instrumented(model, plan, false);
  units_ = std::move(instrumented.units);
  outputs_ = std::move(instrumented.outputs);
  session_ = std::make_unique<runtime::Session>(instrumented.take(), in_float);
  make_locals_ = [model, plan] {
    Instrumented measured(model, plan, true);
    std::vector<std::string> names = std::move(measured.locals);
    return std::make_unique<Locals>(Locals{std::move(names), runtime::Session(measured.take(), in_float)});
  };
}

ToggledModel::~ToggledModel() = default;

std::vector<Tensor> ToggledModel::outputs(const data::Sample& sample, const std::vector<bool>& on) const {
  return guarded([&] { return session_->run(with_switches(sample, on), outputs_); });
}

std::vector<ToggledModel::Local> ToggledModel::locals(const data::Sample& sample, const std::vector<bool>& on) const {
  std::vector<Local> out;
  if (units_.empty()) return out;
  const std::vector<Tensor> sums = guarded([&] {
    std::call_once(once_, [&] { locals_ = make_locals_(); });
    return locals_->session.run(with_switches(sample, on), locals_->names);
  });
  for (size_t u = 0; u < units_.size(); u++) {
    out.push_back({.noise = sums[3 * u].as<float>()[0],
                   .signal = sums[3 * u + 1].as<float>()[0],
                   .size = static_cast<double>(sums[3 * u + 2].as<int64_t>()[0])});
  }
  return out;
}

}  // namespace quasar::tune
