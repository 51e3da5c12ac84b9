#include "quasar/ops/op.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "quasar/graph/page_out.hpp"

namespace quasar::ops {
namespace {

using Families = std::unordered_map<std::string_view, std::shared_ptr<const OpFamily>>;

const Families& families() {
  static const Families all = [] {
    Families out;
    for (const auto& item : types::table().items()) {
      const std::shared_ptr<const OpFamily> family = item.second.make({});
      for (const auto type : family->types()) out[type] = family;
    }
    return out;
  }();
  return all;
}

}  // namespace

std::optional<Roles> roles_of(const graph::Node& node, const graph::Model& model, std::string& why) {
  const auto family = node.domain.empty() ? families().find(node.op_type) : families().end();
  if (family == families().end()) {
    why = "operator " + node.op_type + " has no quantized form";
    return std::nullopt;
  }
  return family->second->roles(node, model, why);
}

Survey survey(const graph::Model& model) {
  Survey out;
  const std::set<std::string> floats = float_values(model);
  const bool large = graph::is_large(model);
  for (const auto& node : model.nodes) {
    if (!node.domain.empty() || !families().contains(node.op_type)) continue;
    std::string why;
    const auto roles = roles_of(node, model, why);
    for (size_t i = 0; large && i < node.inputs.size(); ++i) {  // each was looked at, for infinite values
      if (const Tensor* constant = model.initializer(node.inputs[i])) graph::page_out(model, *constant);
    }
    if (!roles) {
      out.declined[node.name] = why;
      continue;
    }
    const auto known = [&](size_t input) { return floats.contains(node.inputs[input]) || model.initializer(node.inputs[input]); };
    const auto computed = [&](size_t input) { return !model.initializer(node.inputs[input]); };
    if (!std::ranges::all_of(roles->activations, known)) {
      out.declined[node.name] = "its data is not known to be float32";
    } else if (!roles->activations.empty() && !std::ranges::any_of(roles->activations, computed)) {
      out.declined[node.name] = "all its inputs are constant";
    } else {
      out.quantizable[node.name] = *roles;
    }
  }
  return out;
}

}  // namespace quasar::ops
