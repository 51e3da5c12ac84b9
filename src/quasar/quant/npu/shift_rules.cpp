#include <algorithm>
#include <memory>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/npu/zero_tensors.hpp"

namespace quasar::quant {
namespace {

// Rules make tensors coarser, so they come to an end; where one must make an input finer again, they may not.
constexpr int most_passes = 200;

using ActiveRules = std::vector<std::pair<std::string, std::unique_ptr<Rule>>>;

ActiveRules active_rules(const Switches& switches, bool npu) {
  ActiveRules out;
  for (const auto& [name, entry] : rules::table().items()) {
    auto rule = entry.make({});
    const std::string key = rule->switched_by();
    if (key.starts_with("Adjust") && is_on(switches, key, npu)) out.emplace_back(name, std::move(rule));
  }
  return out;
}

// The plan as a network: one tensor for all values that share their parameters, one for every constant.
class Picture {
 public:
  Picture(Plan& plan, const ShiftContext& context) : plan_(plan), context_(context), ties_(context.ties) {
    for (const auto& [name, roles] : context.placement.nodes) {
      const graph::Node& node = *context.index.node(name);
      if (roles.kind != ops::Kind::activation) continue;
      const auto before = plan.values.find(node.inputs.front()), after = plan.values.find(node.outputs.front());
      if (before != plan.values.end() && after != plan.values.end() && before->second == after->second)
        ties_.bind(before->first, after->first);
    }
    for (const auto& node : context.index.model().nodes) {
      if (const auto found = plan.nodes.find(node.name); found != plan.nodes.end()) add_layer(node, found->second);
    }
    mark_shared();
  }

  Network network;

  // Tensors that moved get their new scales, in the plan.
  size_t write_back() {
    size_t moved = 0;
    const auto write = [&](QuantParams& params, size_t tensor) {
      const Fixed& fixed = network.tensors[tensor];
      if (!fixed.shifted || params.scales.front() == scale_at(fixed.position)) return;
      params.scales.front() = scale_at(fixed.position);
      if (!fixed.zeros) moved++;
    };
    for (auto& [value, params] : plan_.values) {
      if (const auto found = values_.find(ties_.root(value)); found != values_.end()) write(params, found->second);
    }
    for (auto& [params, tensor] : constants_) write(*params, tensor);
    for (auto& [value, params] : plan_.conversions) {
      for (auto& [node, own] : params) {
        if (!context_.ties.apart(value, node)) continue;
        const std::string& output = context_.index.node(node)->outputs.front();
        if (const auto found = values_.find(ties_.root(output)); found != values_.end()) write(own, found->second);
      }
    }
    limit_weight_scales(plan_, network);
    return moved;
  }

 private:
  std::optional<size_t> value(const std::string& name) {
    const auto found = plan_.values.find(name);
    if (found == plan_.values.end()) return std::nullopt;
    const auto [entry, fresh] = values_.try_emplace(ties_.root(name), network.tensors.size());
    if (fresh) mark_zeros(add(name, found->second), holds_zeros(entry->first));
    return entry->second;
  }

  // Whether all values of the root that have a range of their own were zero everywhere.
  bool holds_zeros(const std::string& root) {
    if (zero_roots_.empty()) {
      for (const auto& [name, range] : plan_.ranges) {
        const auto entry = zero_roots_.try_emplace(ties_.root(name), true).first;
        entry->second = entry->second && is_zero(range);
      }
    }
    const auto found = zero_roots_.find(root);
    return found != zero_roots_.end() && found->second;
  }

  // A scale that is not the one for want of a range was asked for, or is a product of others.
  void mark_zeros(size_t tensor, bool zeros) {
    Fixed& fixed = network.tensors[tensor];
    fixed.zeros = zeros && fixed.shifted && fixed.position == 0 && fixed.params.type != DataType::int32;
  }

  size_t constant(const graph::Node& node, ConstantPlan& plan) {
    constants_.emplace_back(&plan.params, network.tensors.size());
    const size_t tensor = add(node.inputs[plan.input], plan.params);
    mark_zeros(tensor, is_zero(*context_.index.model().initializer(node.inputs[plan.input])));
    return tensor;
  }

  size_t add(const std::string& name, const QuantParams& params) {
    Fixed fixed{.name = name, .params = params};
    const auto position = position_of(params.scales.front());
    if (params.scales.size() == 1 && position) fixed.position = *position, fixed.shifted = true;
    network.tensors.push_back(std::move(fixed));
    return network.tensors.size() - 1;
  }

  void add_layer(const graph::Node& node, NodePlan& plan) {
    const ops::Roles& roles = *context_.placement.roles(&node);
    if (roles.activations.empty()) return add_table(node, plan);
    Layer layer{.node = node.name, .type = node.op_type, .inputs = {}, .weight = {}, .bias = {}, .output = {}};
    for (const size_t input : roles.activations) {
      const auto fixed = std::ranges::find(plan.constants, input, &ConstantPlan::input);
      if (fixed != plan.constants.end() && joined(node, *fixed)) {
        layer.inputs.push_back(value(node.outputs.front()));
        constants_.emplace_back(&fixed->params, *layer.inputs.back());
        continue;
      }
      const std::string& read = context_.ties.apart(node.inputs[input], node.name) ? node.outputs.front() : node.inputs[input];
      layer.inputs.push_back(fixed == plan.constants.end() ? value(read) : constant(node, *fixed));
    }
    if (plan.weight) layer.weight = constant(node, *plan.weight);
    if (plan.bias) layer.bias = constant(node, *plan.bias);
    const std::string& output = node.outputs.front();
    layer.output = value(output);
    const graph::Node* reader = layer.output ? nullptr : graph::sole_reader(output, context_.index);
    if (reader != nullptr) {
      layer.activation = reader->op_type;
      layer.output = value(reader->outputs.front());
    }
    describe(node, plan, layer);
    network.layers.push_back(std::move(layer));
  }

  // A constant that is aligned with what it is joined with: one tensor.
  bool joined(const graph::Node& node, const ConstantPlan& constant) const {
    if (!node.is("Concat") || !is_on(context_.config.switches, "AlignConcat", context_.npu)) return false;
    const auto output = plan_.values.find(node.outputs.front());
    return output != plan_.values.end() && output->second.scales == constant.params.scales;
  }

  // Its rows are the output's codes: one tensor.
  void add_table(const graph::Node& node, NodePlan& plan) {
    const auto output = value(node.outputs.front());
    if (plan.weight && output && network.tensors[*output].params.scales == plan.weight->params.scales)
      constants_.emplace_back(&plan.weight->params, *output);
  }

  // A Concat's tensor holds what others write too: finer would clip theirs.
  void mark_shared() {
    for (const auto& layer : network.layers) {
      if (layer.type != "Concat" || !layer.output) continue;
      if (!context_.ties.bounded(context_.index.node(layer.node)->outputs.front())) network.tensors[*layer.output].shared = true;
    }
  }

  void describe(const graph::Node& node, const NodePlan& plan, Layer& layer) const {
    if (node.is("HardSigmoid")) layer.alpha = node.real("alpha", 0.2F), layer.beta = node.real("beta", 0.5F);
    if (plan.simulation && plan.simulation->hard_sigmoid) layer.type = "HardSigmoid", layer.alpha = 1.0F / 6;
    if (!node.is("Mul")) return;
    for (size_t i = 0; i < 2; i++) {
      const graph::Node* gate = context_.index.producer(node.inputs[i]);
      if (gate != nullptr && (gate->is("Sigmoid") || gate->is("HardSigmoid")) && gate->inputs[0] == node.inputs[1 - i])
        layer.swish = true;
    }
  }

  Plan& plan_;
  const ShiftContext& context_;
  Ties ties_;
  std::map<std::string, size_t> values_;    // by root
  std::map<std::string, bool> zero_roots_;  // of values with a range: whether that is zero everywhere
  std::vector<std::pair<QuantParams*, size_t>> constants_;
};

void mend(const ActiveRules& rules, Network& network, int passes) {
  for (int pass = 0; pass < passes; pass++) {
    std::vector<int> before;
    for (const auto& tensor : network.tensors) before.push_back(tensor.position);
    for (const auto& [name, rule] : rules) {
      for (const auto& layer : network.layers) rule->mend(layer, network);
    }
    if (std::ranges::equal(before, network.tensors, {}, {}, &Fixed::position)) return;
  }
}

}  // namespace

std::vector<std::string> keep_shift_rules(Plan& plan, const ShiftContext& context) {
  const ActiveRules rules = active_rules(context.config.switches, context.npu);
  if (rules.empty()) return {};
  Picture picture(plan, context);
  fit_zeros(picture.network);
  mend(rules, picture.network, context.config.max_loop_num > 0 ? context.config.max_loop_num : most_passes);
  std::vector<std::string> notes;
  if (const size_t moved = picture.write_back(); moved > 0)
    notes.push_back(std::to_string(moved) + " scales were moved to keep the limits of the processor's shifts");
  for (const auto& [name, rule] : rules) {
    for (const auto& layer : picture.network.layers) {
      for (const auto& fault : rule->check(layer, picture.network))
        notes.push_back("rule " + name + " could not be kept at " + layer.node + ": " + fault.what);
    }
  }
  return notes;
}

}  // namespace quasar::quant
