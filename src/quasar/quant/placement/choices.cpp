#include "quasar/quant/placement/choices.hpp"

#include "quasar/quant/config/exclude.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/standalone.hpp"

namespace quasar::quant {

Choices::Choices(const PlacementContext& context)
    : context_(context),
      excluded_(excluded_nodes(context.config.exclude, context.index)),
      unselected_(left_out(context.config.selection, context.index)) {}

std::string Choices::against(const graph::Node& node) const {
  if (!node.inside.empty() && !context_.on("EnableSubgraph"))
    return "EnableSubgraph is false, and it stands in a body of If, Loop or Scan";
  if (excluded_.contains(node.name)) return "excluded";
  const auto left = unselected_.find(node.name);
  return left == unselected_.end() ? "" : left->second;
}

std::string Choices::against_kind(const graph::Node& node, ops::Kind kind) const {
  const Config& config = context_.config;
  const bool on_products = context_.on("EnableNPUTransformer") && config.selection.op_types.empty();
  if (on_products && !node.is("Gemm") && !node.is("MatMul")) return "EnableNPUTransformer quantizes Gemm and MatMul only";
  const bool product = kind == ops::Kind::compute || kind == ops::Kind::activation || is_table(node, context_.model());
  return config.form == ModelForm::all || product ? "" : "form " + name_of(config.form) + " leaves it in float";
}

std::string Choices::against_pairs(const graph::Node& node, ops::Roles& roles) const {
  if (std::string why = against_kind(node, roles.kind); !why.empty()) return why;
  if (std::string why = switched_off(node, roles); !why.empty()) return why;
  const LayerRule* rule = rule_for(node, context_.config);
  return rule != nullptr && rule->in_float ? "left in float by " + key_of(*rule) : "";
}

std::string Choices::switched_off(const graph::Node& node, ops::Roles& roles) const {
  if (context_.on("MatMulConstBOnly") && node.is("MatMul") && !roles.weight) return "MatMulConstBOnly";
  if (context_.on("WeightsOnly") && !roles.weight) return "WeightsOnly";
  if (node.is("Slice") && !context_.on("AlignSlice")) roles.kind = ops::Kind::elementwise;
  return "";
}

}  // namespace quasar::quant
