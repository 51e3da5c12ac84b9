#include "quasar/quant/blocks.hpp"

#include <algorithm>

#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_blocks = 21;

bool concerns_single_layers(const Config& config) {
  return !config.exclude.empty() || !config.layers.empty() || config.products || config.mixed || !config.tensors.empty() ||
         !config.recipes_off.empty() || config.selection != Selection() || config.form != ModelForm::all;
}

// Whether the node has weights in blocks, if it is quantized. ONNX Runtime's MatMul of 8-bit values and 8-bit weights gets one
// scale per output instead, unless it is of another type by a rule.
bool needs_blocks(const graph::Node& node, const Config& config, const graph::Model& model) {
  const bool product = node.is("Gemm") || node.is("MatMul");
  if (!product || node.inputs.size() < 2 || model.initializer(node.inputs[1]) == nullptr) return false;
  const LayerRule* rule = rule_for(node, config);
  if ((rule != nullptr && rule->in_float) || config.tensors.contains(node.inputs[1])) return false;
  const Scheme &activation = rule == nullptr ? config.activation : rule->activation,
               &weight = rule == nullptr ? config.weight : rule->weight;
  const bool in_pairs = weight.granularity == Granularity::group && is_integer(activation.type) && !activation.dynamic;
  return in_pairs && (node.is("Gemm") || bits_of(weight.type) != 8 || bits_of(activation.type) != 8);
}

}  // namespace

bool has_blocks(const graph::Model& model) {
  return model.opset() >= first_opset_of_blocks;
}

bool asks_for_blocks(const Config& config) {
  const auto in_groups = [](const Scheme& weight) { return weight.granularity == Granularity::group; };
  return in_groups(config.weight) || std::ranges::any_of(config.layers, in_groups, &LayerRule::weight) ||
         std::ranges::any_of(config.kinds, [&](const KindRule& one) { return in_groups(one.rule.weight); });
}

std::string why_no_blocks(const graph::Model& model) {
  return "weight_params.quant_granularity is 'Group' together with quantized activations: DequantizeLinear has blocks from "
         "opset 21 on, and this model has opset " +
         std::to_string(model.opset()) + "; use Channel, or activation: null (weights only, any opset)";
}

std::string why_no_blocks(const Config& config, const graph::Index& index, const Target& target) {
  const graph::Model& model = index.model();
  if (has_blocks(model)) return "";
  std::vector<std::string> needing;
  for (const auto& node : model.nodes) {
    if (needs_blocks(node, config, model)) needing.push_back(node.name);
  }
  if (needing.empty()) return "";
  if (!concerns_single_layers(config)) return why_no_blocks(model);
  const std::set<std::string> quantized = placeable(index, config, target);
  const bool needed = std::ranges::any_of(needing, [&](const auto& name) { return quantized.contains(name); });
  return needed ? why_no_blocks(model) : "";
}

}  // namespace quasar::quant
