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
#include "quasar/quant/shift_rules.hpp"
#include "quasar/quant/ties.hpp"
#include "quasar/quant/weights.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_blocks = 21;
constexpr size_t least_stored = 1024;  // values of a constant that is worth a Cast

// ONNX Runtime's integer Softmax (1.30) overflows without saying so where its output's scale is below about 0.55/255: codes
// become 0.
constexpr double least_range_of_probabilities = 0.75;

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
        npu_(is_on(config.switches, "EnableNPUCnn", target.shifts())),
        placement_(place(index_, config, target, masked_values(index_, seen))),
        ties_(index_, placement_, config.switches, npu_),
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
    plan.shifts = npu_;
    for (auto& note : keep_shift_rules(plan, {index_, placement_, ties_, config_, npu_})) notes_.push_back(std::move(note));
    if (on("FoldRelu")) fold(plan);
    for (auto& [name, node] : placement_.alone) plan.nodes[name] = std::move(node);
    if (is_half(config_.weight.type)) store_the_rest(plan);
    plan.ranges = std::move(ranges_);
    plan.skipped = std::move(placement_.skipped);
    plan.notes = std::move(notes_);
    check_overrides(plan);
    if (auto remark = target_.remark(config_); !remark.empty()) plan.notes.push_back(std::move(remark));
    return plan;
  }

 private:
  // Overrides of tensors that are not there are mistakes; of tensors that get no parameters of their own, worth a note.
  void check_overrides(Plan& plan) const {
    for (const auto& [name, own] : config_.tensors) {
      if (used_.contains(name)) continue;
      const bool input = std::ranges::find(index_.model().inputs, name, &graph::Value::name) != index_.model().inputs.end();
      if (!input && index_.producer(name) == nullptr && index_.model().initializer(name) == nullptr) {
        throw Error("TensorQuantOverrides: the model has no value '" + name + "'");
      }
      plan.notes.push_back("TensorQuantOverrides: '" + name +
                           "' has no effect: it is not quantized, or shares the parameters of another value");
    }
  }

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
    const bool clipped_next =
        produced != nullptr && read != nullptr && read->kind == ops::Kind::activation && !schemes_.converts(value, reader->name);
    if (clipped_next && target_.fuses(*producer, *reader) && on(reader->is("Relu") ? "RemoveQDQConvRelu" : "RemoveQDQConvClip")) {
      const QuantParams& clipped = params_of(reader->outputs.front());
      if (target_.absorbs(*read->bounds, clipped)) {
        absorbed_.insert(value);
        return clipped;
      }
    }
    if (const auto& group = ties_.aligned(value); !group.empty() && same_scheme(group)) return aligned_params(group);
    if (clipped_next) return params_of(reader->outputs.front());
    const Scheme& scheme = schemes_.written(value);
    // Rows of a table that is stored as codes are those codes.
    if (produced != nullptr && produced->weight && produced->activations.empty()) {
      const Scheme table = stored_scheme(*produced, *schemes_.of(producer->name).weight);
      if (bits_of(table.type) == bits_of(scheme.type))
        return constant_weight_params(producer->inputs[produced->weight->input], std::nullopt, table);
    }
    QuantParams params = own_params(value, scheme);
    // A power of two stays one.
    const bool free = scheme.scale_type == ScaleType::float32;
    if (free && produced != nullptr && produced->kind == ops::Kind::activation) keep_within(*produced->bounds, params);
    return params;
  }

  bool same_scheme(const std::vector<std::string>& group) const {
    const auto same = [&](const std::string& value) { return schemes_.written(value) == schemes_.written(group.front()); };
    return std::ranges::all_of(group, same);
  }

  // One range for all: the union of what each of them would have.
  QuantParams aligned_params(const std::vector<std::string>& group) {
    const Scheme& scheme = schemes_.written(group.front());
    stats::Range all;
    for (const auto& value : group) {
      const graph::Node* producer = index_.producer(value);
      const ops::Roles* produced = placement_.roles(producer);
      if (produced != nullptr && produced->kind == ops::Kind::movement) continue;  // its source is one of the group
      const QuantParams own = own_params(value, scheme);
      const Grid grid = grid_of(scheme.type, scheme.symmetric);
      const auto end = [&](int64_t code) {
        return static_cast<double>(own.scales[0]) * static_cast<double>(code - own.zero_points[0]);
      };
      all = {std::min(all.low, end(grid.low)), std::max(all.high, end(grid.high))};
    }
    const auto [scale, zero_point] = scale_for(all, scheme.type, scheme.symmetric, scheme.scale_type);
    return {.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
  }

  bool on(std::string_view key) const { return is_on(config_.switches, key, npu_); }

  // Removes activations that the pair behind them makes superfluous.
  void fold(Plan& plan) const {
    for (const auto& [name, roles] : placement_.nodes) {
      const graph::Node& node = *index_.node(name);
      const auto output = plan.values.find(node.outputs.front());
      if (roles.kind != ops::Kind::activation || !absorbed_.contains(node.inputs.front()) || output == plan.values.end())
        continue;
      const QuantParams& params = output->second;
      const Grid grid = grid_of(params.type, false);
      const auto end = [&](int64_t code) { return params.scales[0] * static_cast<float>(code - params.zero_points[0]); };
      if (end(grid.low) < roles.bounds->low || end(grid.high) > roles.bounds->high) continue;
      plan.folded.insert(name);
      plan.nodes.erase(name);
    }
  }

  QuantParams own_params(const std::string& value, const Scheme& usual) {
    const auto own = config_.tensors.find(value);
    const Scheme scheme = own == config_.tensors.end() ? usual : overridden(usual, own->second);
    if (own != config_.tensors.end()) used_.insert(value);
    if (own != config_.tensors.end() && is_complete(own->second)) return quant::params_of(own->second, scheme);
    if (is_half(scheme.type)) return {.type = scheme.type, .scales = {1}, .zero_points = {0}};
    const auto found = seen_.find(value);
    if (found == seen_.end()) throw Error("no statistics of value '" + value + "' were collected");
    // Probabilities are nearly all zero with a few ones that matter: a method that clips tails would clip the answer.
    const graph::Node* producer = index_.producer(value);
    const bool probabilities = producer != nullptr && producer->is("Softmax");
    const auto& given = found->second.given;
    if (given && !given->range)
      return {.type = scheme.type, .scales = {static_cast<float>(given->scale)}, .zero_points = {given->zero_point}};
    stats::Range range = given           ? *given->range
                         : probabilities ? found->second.range
                                         : method_of(usual).pick(found->second, scheme);
    if (!given && probabilities && bits_of(scheme.type) == 8) range.high = std::max(range.high, least_range_of_probabilities);
    ranges_[value] = range;
    const auto [scale, zero_point] = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
    return {.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
  }

  // A table that rows are taken from has one scale, whatever the weights of sums have.
  static Scheme stored_scheme(const ops::Roles& roles, Scheme weight) {
    if (roles.activations.empty()) weight.granularity = Granularity::tensor;
    return weight;
  }

  QuantParams constant_weight_params(const std::string& name, std::optional<int> axis, const Scheme& usual) {
    const Tensor& weights = *index_.model().initializer(name);
    const auto own = config_.tensors.find(name);
    if (own == config_.tensors.end()) return weight_params(weights, axis, usual);
    used_.insert(name);
    const Scheme scheme = overridden(usual, own->second);
    return is_complete(own->second) ? quant::params_of(own->second, scheme) : weight_params(weights, axis, scheme);
  }

  const RangeMethod& method_of(const Scheme& scheme) {
    auto& method = methods_[&scheme];
    if (method == nullptr) method = ranges::table().make(scheme.range_method, scheme.range_options);
    return *method;
  }

  NodePlan plan_node(const graph::Node& node, const ops::Roles& roles) {
    NodePlan plan;
    const auto& weight = schemes_.of(node.name).weight;
    const auto constant = [&](size_t input) { return index_.model().initializer(node.inputs[input]); };
    if (roles.weight) {
      plan.weight = ConstantPlan{roles.weight->input, constant_weight_params(node.inputs[roles.weight->input], roles.weight->axis,
                                                                             stored_scheme(roles, *weight))};
      check_blocks(plan.weight->params);
      if (on("WeightsOnly")) return plan;
      // With blocks of inputs the sums are float, and so is the bias.
      if (roles.bias && is_half(weight->type)) {
        plan.bias = ConstantPlan{*roles.bias, plan.weight->params};
      } else if (roles.bias && on("QuantizeBias") && plan.weight->params.block == 0) {
        plan.bias = plan_bias(node, roles, *weight, *plan.weight);
      }
    }
    if (on("SimulateDPU"))
      plan.simulation = simulation_of({node, index_.model(), shape_of(node.inputs.front())}, config_.switches, npu_);
    if (placement_.biased.contains(node.outputs.front())) return plan;
    for (const size_t input : roles.activations) {
      if (const Tensor* values = constant(input)) plan.constants.push_back({input, constant_params(*values, node)});
    }
    return plan;
  }

  ConstantPlan plan_bias(const graph::Node& node, const ops::Roles& roles, const Scheme& scheme, ConstantPlan& weight) {
    const Tensor& weights = *index_.model().initializer(node.inputs[weight.input]);
    const Tensor& bias = *index_.model().initializer(node.inputs[*roles.bias]);
    const bool wide = on("Int16Bias");
    if (wide || !on("Int32Bias")) {
      const bool powers = scheme.scale_type == ScaleType::power_of_two;
      const Scheme own{.type = wide ? DataType::int16 : DataType::int8,
                       .symmetric = true,
                       .scale_type = scheme.scale_type,
                       .range_method = powers ? "min_mse" : "min_max"};
      return {*roles.bias, weight_params(bias, std::nullopt, own)};
    }
    const float input_scale = read_params(node.inputs[roles.activations.front()], node.name).scales.front();
    const size_t raised = fit_to_bias(weight.params, weights, bias, input_scale, scheme.scale_type);
    if (raised > 0)
      notes_.push_back(node.name + ": " + std::to_string(raised) + " weight scales raised so that the bias fits int32");
    return {*roles.bias, bias_params(weight.params, bias, input_scale)};
  }

  const Shape* shape_of(const std::string& value) const {
    const auto found = seen_.find(value);
    return found == seen_.end() || found->second.shape.empty() ? nullptr : &found->second.shape;
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
  QuantParams constant_params(const Tensor& values, const graph::Node& node) const {
    const bool aligned = on("AlignEltwiseQuantType") || node.is("Concat") || node.is("Where");
    const Scheme& like = aligned ? *schemes_.of(node.name).activation : config_.weight;
    const Scheme scheme{.type = target_.constant_type(like.type),
                        .symmetric = like.symmetric,
                        .scale_type = like.scale_type,
                        .range_method = like.scale_type == ScaleType::power_of_two ? "min_mse" : "min_max"};
    return weight_params(values, std::nullopt, scheme);
  }

  const graph::Index index_;
  const stats::Statistics& seen_;
  const Config& config_;
  const Target& target_;
  const bool npu_;
  Placement placement_;
  const Ties ties_;
  const NodeSchemes schemes_;
  std::map<const Scheme*, std::unique_ptr<RangeMethod>> methods_;
  std::unordered_map<std::string, QuantParams> params_;
  std::map<std::string, stats::Range> ranges_;
  std::set<std::string> absorbed_, used_;  // used_: overrides of single tensors
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
    // A Slice may have a range of its own (AlignSlice).
    if (found->second.kind != ops::Kind::movement || node.is("Slice")) add(node.outputs.front());
  }
  return out;
}

stats::Requests needs_of(const Config& config) {
  const auto needs = [](const Scheme& scheme) {
    return ranges::table().make(scheme.range_method, scheme.range_options)->needs();
  };
  stats::Requests all = needs(config.activation);
  if (config.mixed) all.merge(needs(config.mixed->activation));
  for (const auto& rule : config.layers) {
    if (!rule.in_float) all.merge(needs(rule.activation));
  }
  return all;
}

Plan resolve(const graph::Model& model, const stats::Statistics& seen, const Config& config, const Target& target) {
  const bool npu = !target.shifts() && is_on(config.switches, "EnableNPUCnn", false);
  const auto shifting = npu ? targets::table().make("xint8") : nullptr;
  const Target& used = npu ? *shifting : target;
  Plan plan = Resolver(model, seen, config, used).run();
  if (!config.mixed) return plan;
  LayerRule rule{.words = {},
                 .nodes = promoted_layers(model, seen, plan, *config.mixed),
                 .op_types = {},
                 .activation = config.mixed->activation,
                 .weight = config.mixed->weight};
  if (rule.nodes.empty()) return plan;
  std::string note = "include_auto_mp: " + std::to_string(rule.nodes.size()) + " layers promoted:";
  for (const auto& node : rule.nodes) note += " " + node;
  Config mixed = config;
  mixed.mixed.reset();
  mixed.layers.push_back(std::move(rule));
  plan = Resolver(model, seen, mixed, used).run();
  plan.notes.push_back(std::move(note));
  return plan;
}

}  // namespace quasar::quant
