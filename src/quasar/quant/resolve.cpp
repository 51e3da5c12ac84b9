// A configuration becomes a plan: first where pairs stand (placement), then the parameters of each value, weight and bias.
//   own range      the value's statistics, by the configuration's calibration method
//   movement       the input's parameters, so that codes pass through unchanged
//   before an activation that the target does not absorb: the activation's own parameters; what it would clip saturates
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "quasar/base/error.hpp"
#include "quasar/quant/exclude.hpp"
#include "quasar/quant/node_schemes.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/range.hpp"
#include "quasar/quant/scheme_words.hpp"
#include "quasar/quant/weights.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_blocks = 21;
constexpr size_t least_stored = 1024;  // values of a constant that is worth a Cast

// The zero point moves with the type, so that every code keeps its meaning: int8 −128…127 is uint8 0…255.
QuantParams stored_as(DataType type, QuantParams params) {
  if (type == params.type) return params;
  const auto shift = static_cast<int32_t>(grid_of(type, false).low - grid_of(params.type, false).low);
  for (auto& zero_point : params.zero_points) zero_point += shift;
  params.type = type;
  return params;
}

// Rounding of the scale may carry the ends of the grid beyond the bounds to which the activation clips, by an ulp; then no target
// could tell that the grid clips as well.
void keep_within(const ops::Bounds& bounds, QuantParams& params) {
  if (is_half(params.type)) return;
  const Grid grid = grid_of(params.type, false);
  const auto beyond = [&](float scale) {
    return scale * static_cast<float>(grid.high - params.zero_points[0]) > bounds.high ||
           scale * static_cast<float>(grid.low - params.zero_points[0]) < bounds.low;
  };
  const float scale = params.scales[0], one = std::nextafter(scale, 0.0F), two = std::nextafter(one, 0.0F);
  if (!beyond(scale)) return;
  if (!beyond(one)) {
    params.scales[0] = one;
  } else if (!beyond(two)) {
    params.scales[0] = two;
  }
}

// Values that an attention mask has filled with −10⁴, −65504 or the lowest float, so that Softmax gives zero there.
std::set<std::string> masked_values(const graph::Index& index, const stats::Statistics& seen) {
  constexpr double hidden = -5e3, absurd = 1e30;
  std::set<std::string> out;
  for (const auto& [value, stats] : seen) {
    const auto is_softmax = [](const graph::Node* node) { return node->is("Softmax"); };
    const bool masks = stats.range.low <= hidden && std::ranges::any_of(index.consumers(value), is_softmax);
    if (masks || stats.range.low <= -absurd || stats.range.high >= absurd) out.insert(value);
  }
  return out;
}

class Resolver {
 public:
  Resolver(const graph::Model& model, const stats::Statistics& seen, const Config& config, const Target& target)
      : index_(model),
        seen_(seen),
        config_(config),
        target_(target),
        placement_(place(index_, config, target, masked_values(index_, seen))),
        schemes_(index_, placement_, config) {}

  Plan run() {
    Plan plan;
    plan.rounding = config_.rounding;
    for (const auto& value : placement_.values) {
      if (const QuantParams& params = params_of(value); !absorbed_.contains(value)) {
        plan.values[value] = stored_as(target_.activation_type(params.type, readers(value, index_)), params);
      }
    }
    for (const auto& [name, roles] : placement_.nodes) {
      plan.nodes[name] = plan_node(*index_.node(name), roles);
      for (const size_t input : roles.activations) {
        const std::string& value = index_.node(name)->inputs[input];
        if (!placement_.values.contains(value) || !schemes_.converts(value, name)) continue;
        const QuantParams& params = read_params(value, name);
        plan.conversions[value][name] = stored_as(target_.activation_type(params.type, 1), params);
      }
    }
    for (auto& [name, node] : placement_.alone) plan.nodes[name] = std::move(node);
    if (is_half(config_.weight.type)) store_the_rest(plan);
    plan.ranges = std::move(ranges_);
    plan.skipped = std::move(placement_.skipped);
    plan.notes = std::move(notes_);
    if (auto remark = target_.remark(config_); !remark.empty()) plan.notes.push_back(std::move(remark));
    return plan;
  }

 private:
  // Memoized; std::unordered_map keeps references valid.
  const QuantParams& params_of(const std::string& value) {
    if (const auto known = params_.find(value); known != params_.end()) return known->second;
    QuantParams params = find_params(value);
    return params_.emplace(value, std::move(params)).first->second;
  }

  // Of the value as the node reads it.
  const QuantParams& read_params(const std::string& value, const std::string& node) {
    if (!schemes_.converts(value, node)) return params_of(value);
    const Scheme& scheme = *schemes_.of(node).activation;
    const std::string key = value + '\n' + std::string(name_of(scheme.type)) + scheme_words(scheme).dump();
    if (const auto known = params_.find(key); known != params_.end()) return known->second;
    return params_.emplace(key, own_params(value, scheme)).first->second;
  }

  QuantParams find_params(const std::string& value) {
    const graph::Node* producer = index_.producer(value);
    const ops::Roles* produced = placement_.roles(producer);
    if (produced != nullptr && produced->kind == ops::Kind::movement)
      return read_params(producer->inputs[produced->activations.front()], producer->name);
    const graph::Node* reader = sole_reader(value, index_);
    const ops::Roles* read = placement_.roles(reader);
    if (produced != nullptr && read != nullptr && read->kind == ops::Kind::activation &&
        !schemes_.converts(value, reader->name)) {
      const QuantParams& clipped = params_of(reader->outputs.front());
      if (target_.absorbs(*read->bounds, clipped)) absorbed_.insert(value);
      return clipped;
    }
    const Scheme& scheme = schemes_.written(value);
    QuantParams params = own_params(value, scheme);
    // A power of two stays one.
    const bool free = scheme.scale_type == ScaleType::float32;
    if (free && produced != nullptr && produced->kind == ops::Kind::activation) keep_within(*produced->bounds, params);
    return params;
  }

  QuantParams own_params(const std::string& value, const Scheme& scheme) {
    if (is_half(scheme.type)) return {.type = scheme.type, .scales = {1}, .zero_points = {0}};
    const auto found = seen_.find(value);
    if (found == seen_.end()) throw Error("no statistics of value '" + value + "' were collected");
    // Probabilities are nearly all zero with a few ones that matter: a method that clips tails would clip the answer.
    const graph::Node* producer = index_.producer(value);
    const bool probabilities = producer != nullptr && producer->is("Softmax");
    const auto& given = found->second.given;
    if (given && !given->range)
      return {.type = scheme.type, .scales = {static_cast<float>(given->scale)}, .zero_points = {given->zero_point}};
    const stats::Range range = given           ? *given->range
                               : probabilities ? found->second.range
                                               : method_of(scheme).pick(found->second, scheme);
    ranges_[value] = range;
    const auto [scale, zero_point] = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
    return {.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
  }

  const RangeMethod& method_of(const Scheme& scheme) {
    auto& method = methods_[&scheme];
    if (method == nullptr) method = ranges::table().make(scheme.range_method, scheme.range_options);
    return *method;
  }

  NodePlan plan_node(const graph::Node& node, const ops::Roles& roles) {
    NodePlan plan;
    const auto& [activation, weight] = schemes_.of(node.name);
    const auto constant = [&](size_t input) { return index_.model().initializer(node.inputs[input]); };
    if (roles.weight) {
      const Tensor& weights = *constant(roles.weight->input);
      plan.weight = ConstantPlan{roles.weight->input, weight_params(weights, roles.weight->axis, *weight)};
      check_blocks(plan.weight->params);
      // With blocks of inputs the sums are float, and so is the bias.
      if (roles.bias && is_half(weight->type)) {
        plan.bias = ConstantPlan{*roles.bias, plan.weight->params};
      } else if (roles.bias && plan.weight->params.block == 0) {
        const Tensor& bias = *constant(*roles.bias);
        const float input_scale = read_params(node.inputs[roles.activations.front()], node.name).scales.front();
        const size_t raised = fit_to_bias(plan.weight->params, weights, bias, input_scale, weight->scale_type);
        if (raised > 0)
          notes_.push_back(node.name + ": " + std::to_string(raised) + " weight scales raised so that the bias fits int32");
        plan.bias = ConstantPlan{*roles.bias, bias_params(plan.weight->params, bias, input_scale)};
      }
    }
    if (placement_.biased.contains(node.outputs.front())) return plan;
    for (const size_t input : roles.activations) {
      if (const Tensor* values = constant(input)) plan.constants.push_back({input, constant_params(*values, *activation)});
    }
    return plan;
  }

  // Of nodes that are not quantized themselves: in 16 bits their large constants take half the space.
  void store_the_rest(Plan& plan) const {
    const std::set<std::string> excluded = excluded_nodes(config_.exclude, index_);
    for (const auto& node : index_.model().nodes) {
      if (plan.nodes.contains(node.name) || excluded.contains(node.name)) continue;
      for (size_t input = 0; input < node.inputs.size(); input++) {
        const Tensor* values = index_.model().initializer(node.inputs[input]);
        if (values == nullptr || values->type() != DataType::float32 || values->count() < least_stored) continue;
        plan.nodes[node.name].constants.push_back({input, weight_params(*values, std::nullopt, config_.weight)});
      }
    }
  }

  void check_blocks(const QuantParams& params) const {
    if (params.block == 0 || index_.model().opset() >= first_opset_of_blocks) return;
    throw Error(
        "weight_params.quant_granularity is 'Group' together with quantized activations: DequantizeLinear has blocks from "
        "opset 21 on, and this model has opset " +
        std::to_string(index_.model().opset()) + "; use Channel, or activation: null (weights only, any opset)");
  }

  // Constants are known exactly: min/max over all of them, in the activations' symmetry. Rounded to a power of two that would
  // clip up to 30 %, so the best power is looked for.
  QuantParams constant_params(const Tensor& values, const Scheme& activation) const {
    const Scheme scheme{.type = target_.constant_type(activation.type),
                        .symmetric = activation.symmetric,
                        .scale_type = activation.scale_type,
                        .range_method = activation.scale_type == ScaleType::power_of_two ? "min_mse" : "min_max"};
    return weight_params(values, std::nullopt, scheme);
  }

  const graph::Index index_;
  const stats::Statistics& seen_;
  const Config& config_;
  const Target& target_;
  Placement placement_;
  const NodeSchemes schemes_;
  std::map<const Scheme*, std::unique_ptr<RangeMethod>> methods_;
  std::unordered_map<std::string, QuantParams> params_;
  std::map<std::string, stats::Range> ranges_;
  std::set<std::string> absorbed_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> observed_values(const graph::Model& model) {
  const ops::Survey survey = ops::survey(model);
  std::vector<std::string> out;
  std::set<std::string> known;
  const auto add = [&](const std::string& value) {
    if (!value.empty() && model.initializer(value) == nullptr && known.insert(value).second) out.push_back(value);
  };
  for (const auto& node : model.nodes) {
    const auto found = survey.quantizable.find(node.name);
    if (found == survey.quantizable.end()) continue;
    for (const size_t input : found->second.activations) add(node.inputs[input]);
    if (found->second.kind != ops::Kind::movement) add(node.outputs.front());
  }
  return out;
}

stats::Requests needs_of(const Config& config) {
  const auto needs = [](const Scheme& scheme) {
    return ranges::table().make(scheme.range_method, scheme.range_options)->needs();
  };
  stats::Requests all = needs(config.activation);
  for (const auto& rule : config.layers) {
    if (!rule.in_float) all.merge(needs(rule.activation));
  }
  return all;
}

Plan resolve(const graph::Model& model, const stats::Statistics& seen, const Config& config, const Target& target) {
  return Resolver(model, seen, config, target).run();
}

}  // namespace quasar::quant
