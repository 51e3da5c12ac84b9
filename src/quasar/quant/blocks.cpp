#include "quasar/quant/blocks.hpp"

#include <algorithm>

#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_blocks = 21;

bool concerns_single_layers(const Config& config) {
  return !config.exclude.empty() || !config.layers.empty() || config.products || config.mixed || !config.tensors.empty() ||
         !config.recipes_off.empty() || config.selection != Selection() || config.form != ModelForm::all;
}

// ONNX Runtime's MatMul of 8-bit values and 8-bit weights gets one scale per output instead.
bool needs_blocks(const graph::Node& node, const Config& config, const graph::Model& model) {
  const bool product = node.is("Gemm") || node.is("MatMul");
  if (!product || node.inputs.size() < 2 || model.initializer(node.inputs[1]) == nullptr) return false;
  return node.is("Gemm") || bits_of(config.weight.type) != 8 || bits_of(config.activation.type) != 8;
}

}  // namespace

bool has_blocks(const graph::Model& model) {
  return model.opset() >= first_opset_of_blocks;
}

std::string why_no_blocks(const graph::Model& model) {
  return "weight_params.quant_granularity is 'Group' together with quantized activations: DequantizeLinear has blocks from "
         "opset 21 on, and this model has opset " +
         std::to_string(model.opset()) + "; use Channel, or activation: null (weights only, any opset)";
}

std::string why_no_blocks(const Config& config, const graph::Model& model) {
  const bool in_pairs =
      config.weight.granularity == Granularity::group && is_integer(config.activation.type) && !config.activation.dynamic;
  if (!in_pairs || has_blocks(model) || concerns_single_layers(config)) return "";
  const bool needed = std::ranges::any_of(model.nodes, [&](const auto& node) { return needs_blocks(node, config, model); });
  return needed ? why_no_blocks(model) : "";
}

}  // namespace quasar::quant
