#include "quasar/rounding/prefix_hash.hpp"

#include <algorithm>

#include "quasar/base/hash.hpp"
#include "quasar/rounding/input_scales.hpp"

namespace quasar::tune {

PrefixHash::PrefixHash(const graph::Model& model, const quant::Plan& plan, std::string what)
    : model_(model), plan_(plan), hash_(std::move(what)) {
  for (const auto& input : model.inputs) add_value(input.name);
}

const std::string& PrefixHash::upto(const std::string& node) {
  for (; model_.nodes[next_].name != node; next_++) {
    const graph::Node& passed = model_.nodes[next_];
    if (const auto found = plan_.nodes.find(passed.name); found != plan_.nodes.end()) {
      segment_.nodes.insert(*found);
      if (found->second.weight) add_constant(*found->second.weight);
      if (found->second.bias) add_constant(*found->second.bias);
      for (const auto& [input, values] : found->second.replaced) codes_ += hash_of(values.bytes());
    }
    add_conversions(passed);
    if (plan_.folded.contains(passed.name)) segment_.folded.insert(passed.name);
    if (plan_.relus.contains(passed.name)) segment_.relus.insert(passed.name);
    std::ranges::for_each(passed.outputs, [this](const std::string& value) { add_value(value); });
  }
  add_conversions(model_.nodes[next_]);
  hash_ = hash_of(std::string_view(hash_ + quant::hash_of(segment_) + codes_ + node));
  segment_ = {};
  codes_.clear();
  return hash_;
}

void PrefixHash::add_value(const std::string& value) {
  if (plan_.values.contains(value)) segment_.values[value] = plan_.params(value);
}

void PrefixHash::add_conversions(const graph::Node& node) {
  for (const auto& input : node.inputs) {
    if (const auto* own = conversion_of(plan_, input, node.name)) segment_.conversions[input][node.name] = *own;
  }
}

void PrefixHash::add_constant(const quant::ConstantPlan& constant) {
  if (!constant.optimized) return;
  codes_ += hash_of(constant.optimized->codes.bytes());
  quant::Plan scales;
  scales.values["scales"] = constant.optimized->params;
  codes_ += quant::hash_of(scales);
}

}  // namespace quasar::tune
