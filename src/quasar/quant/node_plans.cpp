#include "quasar/quant/node_plans.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/ops/overflow.hpp"
#include "quasar/quant/blocks.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/config/exclude.hpp"

namespace quasar::quant {
namespace {

constexpr size_t least_stored = 1024;  // values of a constant that is worth a Cast

constexpr int gate_axis = 1;  // of W and R [directions, gates · hidden, …] of LSTM and GRU

Scheme by_channel(Scheme scheme) {
  if (scheme.granularity == Granularity::group) scheme.granularity = Granularity::channel;
  return scheme;
}

}  // namespace

NodePlan NodePlans::of(const graph::Node& node, const ops::Roles& roles) {
  NodePlan plan;
  const auto& weight = at_.schemes.of(node.name).weight;
  const auto held = [&](size_t input) { return at_.index.model().initializer(node.inputs[input]); };
  if (roles.weight) {
    plan.weight = ConstantPlan{roles.weight->input, values_.of_weights(node.inputs[roles.weight->input], roles.weight->axis,
                                                                       weight_scheme(node, roles))};
    check_blocks(plan.weight->params);
    if (at_.on("WeightsOnly")) return plan;
    limit(node, roles, *plan.weight);
    // With blocks of inputs the sums are float, and so is the bias.
    if (roles.bias && is_half(weight->type)) {
      plan.bias = ConstantPlan{*roles.bias, plan.weight->params};
    } else if (roles.bias && at_.on("QuantizeBias") && plan.weight->params.block == 0) {
      plan.bias = bias(node, roles, *weight, *plan.weight);
    }
    if (const Tensor* vector = vector_behind(node);
        vector != nullptr && is_integer(weight->type) && plan.weight->params.block == 0)
      make_room(node, *vector, *weight, *plan.weight);
  }
  if (at_.on("SimulateDPU"))
    plan.simulation = simulation_of({node, at_.index.model(), shape_of(node.inputs.front())}, at_.config.switches, at_.npu);
  if (const auto sum = at_.placement.biased.find(node.outputs.front()); sum != at_.placement.biased.end()) {
    if (!at_.placement.values.contains(sum->first)) widen_bias(plan, node, sum->second);
    return plan;
  }
  for (const size_t input : roles.activations) {
    const Tensor* values = held(input);
    if (values == nullptr) continue;
    // Such kernels were twice as far from float with scales per gate and unit as with one (targets/openvino.cpp).
    const auto axis = at_.target.holds_state_on_grid(node) ? std::nullopt : std::optional(gate_axis);
    plan.constants.push_back({input, ops::is_recurrent(node) ? values_.of_weights(node.inputs[input], axis, by_channel(*weight))
                                                             : constant(*values, node)});
  }
  return plan;
}

// Of a sum of products of 8-bit values and int8 weights.
void NodePlans::limit(const graph::Node& node, const ops::Roles& roles, ConstantPlan& weight) {
  const auto& schemes = at_.schemes.of(node.name);
  const std::string& name = node.inputs[weight.input];
  const auto own = at_.config.tensors.find(name);
  const bool given = own != at_.config.tensors.end() && is_complete(own->second);
  if (roles.activations.empty() || given || !is_integer(schemes.activation->type) || bits_of(schemes.activation->type) != 8)
    return;
  const DataType before = weight.params.type;
  const int32_t most = most_input(node, roles);
  const auto limit = [&](ConstantPlan plan) {
    limit_sums(plan, node, *at_.index.model().initializer(name), at_.config.saturation, most, schemes.weight->scale_type,
               at_.target.kernels());
    return plan;
  };
  const Json how{at_.config.saturation ? static_cast<int>(*at_.config.saturation) : -1,
                 most,
                 static_cast<int>(schemes.weight->scale_type),
                 weight.input,
                 node.op_type,
                 node.integer("group", 1),
                 node.integer("transB", 0)};
  weight = at_.memo != nullptr ? at_.memo->limited(name, how.dump(), weight, limit) : limit(weight);
  if (weight.params.type != before && !schemes.weight->symmetric && at_.config.saturation != Saturation::unsigned_weights)
    made_unsigned_.push_back(node.name);
}

// The largest code of the value that the node reads: where what it holds is bounded by the operator that wrote it, and the
// grid goes on beyond, less than the grid has.
int32_t NodePlans::most_input(const graph::Node& node, const ops::Roles& roles) {
  constexpr int32_t all = 255;
  // Scales of values that are chosen again later may become finer.
  if (at_.config.rounding.optimizes() || change_values(at_.config.transforms)) return all;
  const std::string& value = node.inputs[roles.activations.front()];
  const QuantParams params = stored_as(DataType::uint8, values_.read_by(value, node.name));
  return ops::most_code(at_.index, value, params.scales.front(), params.zero_points.front());
}

ConstantPlan NodePlans::bias(const graph::Node& node, const ops::Roles& roles, const Scheme& scheme, ConstantPlan& weight) {
  const Tensor& values = *at_.index.model().initializer(node.inputs[*roles.bias]);
  const bool wide = at_.on("Int16Bias");
  if (wide || !at_.on("Int32Bias")) {
    const bool powers = scheme.scale_type == ScaleType::power_of_two;
    const Scheme own{.type = wide ? DataType::int16 : DataType::int8,
                     .symmetric = true,
                     .scale_type = scheme.scale_type,
                     .range_method = powers ? "min_mse" : "min_max"};
    return {*roles.bias, weight_params(values, std::nullopt, own)};
  }
  const float input_scale = make_room(node, values, scheme, weight);
  return {*roles.bias, bias_params(weight.params, values, input_scale)};
}

// -> the scale of the node's input.
float NodePlans::make_room(const graph::Node& node, const Tensor& bias, const Scheme& scheme, ConstantPlan& weight) {
  const Tensor& weights = *at_.index.model().initializer(node.inputs[weight.input]);
  const float input_scale =
      values_.read_by(node.inputs[at_.placement.roles(&node)->activations.front()], node.name).scales.front();
  const size_t raised = fit_to_bias(weight.params, weights, bias, input_scale, scheme.scale_type);
  if (raised > 0)
    notes_.push_back(node.name + ": " + std::to_string(raised) + " weight scales raised so that the bias fits int32");
  return input_scale;
}

// The constant vector that is added to the node's product. ONNX Runtime makes a Gemm of both and quantizes the vector to int32
// with scale s_input · s_weight, like a bias.
const Tensor* NodePlans::vector_behind(const graph::Node& node) const {
  const std::string& product = node.outputs.front();
  const auto& biased = at_.placement.biased;
  const auto sum = std::ranges::find(
      biased, product, [](const auto& pair) -> const auto& { return pair.second; });
  if (sum == biased.end() || !at_.placement.values.contains(sum->first)) return nullptr;  // none, or widened
  const graph::Node& add = *at_.index.producer(sum->first);
  return at_.index.model().initializer(add.inputs[add.inputs[0] == product ? 1 : 0]);
}

// ONNX Runtime's kernels for products of 8-bit values and 8-bit matrices have no blocks, and its fusion does not look.
Scheme NodePlans::weight_scheme(const graph::Node& node, const ops::Roles& roles) {
  const auto& schemes = at_.schemes.of(node.name);
  Scheme scheme = stored_scheme(roles, *schemes.weight);
  const bool bytes = is_integer(scheme.type) && bits_of(scheme.type) == 8 && bits_of(schemes.activation->type) == 8;
  if (!node.is("MatMul") || scheme.granularity != Granularity::group || !bytes) return scheme;
  scheme.granularity = Granularity::channel;
  without_blocks_.push_back(node.name);
  return scheme;
}

std::vector<std::string> NodePlans::notes() const {
  std::vector<std::string> out = notes_;
  if (!made_unsigned_.empty())
    out.push_back("asymmetric int8 weights are stored as uint8, the same values, so that no processor's sums overflow: " +
                  joined(made_unsigned_));
  if (!without_blocks_.empty())
    out.push_back(
        "one weight scale per output instead of blocks, which ONNX Runtime's MatMul of 8-bit values and 8-bit weights does "
        "not have: " +
        joined(without_blocks_));
  return out;
}

// The constant vector of a sum gets as many axes as the product has.
void NodePlans::widen_bias(NodePlan& plan, const graph::Node& sum, const std::string& product) const {
  const size_t side = sum.inputs[0] == product ? 1 : 0;
  const Tensor& vector = *at_.index.model().initializer(sum.inputs[side]);
  Shape shape(at_.seen.at(product).shape.size(), 1);
  shape.back() = vector.shape().back();
  plan.replaced[side] = vector.reshaped(shape);
}

const Shape* NodePlans::shape_of(const std::string& value) const {
  const auto found = at_.seen.find(value);
  return found == at_.seen.end() || found->second.shape.empty() ? nullptr : &found->second.shape;
}

// Of nodes that are not quantized themselves: in 16 bits their large constants take half the space.
void NodePlans::store_the_rest(Plan& plan) const {
  const std::set<std::string> excluded = excluded_nodes(at_.config.exclude, at_.index);
  for (const auto& node : at_.index.model().nodes) {
    if (node.domain == graph::entry_domain) continue;  // it reads what its operator does
    if (plan.nodes.contains(node.name) || excluded.contains(node.name)) continue;
    for (size_t input = 0; input < node.inputs.size(); input++) {
      const Tensor* values = at_.index.model().initializer(node.inputs[input]);
      if (values == nullptr || values->type() != DataType::float32 || values->count() < least_stored) continue;
      plan.nodes[node.name].constants.push_back({input, weight_params(*values, std::nullopt, at_.config.weight)});
    }
  }
}

void NodePlans::check_blocks(const QuantParams& params) const {
  if (params.block != 0 && !has_blocks(at_.index.model())) throw Error(why_no_blocks(at_.index.model()));
}

// Constants are known exactly: min/max over all of them, in the activations' symmetry. Rounded to a power of two that would
// clip up to 30 %, so the best power is looked for.
QuantParams NodePlans::constant(const Tensor& values, const graph::Node& node) {
  if (const QuantParams* joined = values_.joined(node)) return stored_as(at_.target.constant_type(joined->type), *joined);
  const bool aligned = at_.on("AlignEltwiseQuantType") || node.is("Concat") || node.is("Where");
  const Scheme& like = aligned ? *at_.schemes.of(node.name).activation : at_.config.weight;
  const Scheme scheme{.type = at_.target.constant_type(like.type),
                      .symmetric = like.symmetric,
                      .scale_type = like.scale_type,
                      .range_method = like.scale_type == ScaleType::power_of_two ? "min_mse" : "min_max"};
  QuantParams params = weight_params(values, std::nullopt, scheme);
  const auto is_zero = [](float value) { return value == 0; };
  // Any scale holds zeros; one that is far from the result's makes kernels overflow that turn one into the other.
  const bool free = scheme.scale_type == ScaleType::float32 && !node.outputs.empty() && at_.seen.contains(node.outputs.front());
  if (free && is_integer(scheme.type) && std::ranges::all_of(values.as<float>(), is_zero))
    params.scales = {values_.of(node.outputs.front()).scales.front()};
  return params;
}

}  // namespace quasar::quant
