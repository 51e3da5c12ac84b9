#include "quasar/rounding/idle_options.hpp"

#include <algorithm>
#include <string>

#include "quasar/rounding/activation_scales.hpp"
#include "quasar/rounding/scale_search.hpp"

namespace quasar::tune {

void drop_idle_options(quant::Plan& plan, bool vectors) {
  const bool refinable = std::ranges::any_of(plan.values, [](const auto& value) { return has_scale_to_refine(value.second); });
  const std::string unrefinable = plan.values.empty() ? "no values are quantized" : "no value is quantized to 8 bits";
  bool biases = vectors, clipped = false;
  for (const auto& [name, node] : plan.nodes) {
    if (!node.weight) continue;
    clipped = clipped || shrinking_factors(node.weight->params).size() > 1;
    biases = biases || node.bias;
  }
  Json& options = plan.rounding.options;
  const auto idle = [&](const std::string& key, const Json& usual, bool acts, const std::string& why) {
    if (acts || !options.contains(key) || options[key] == usual) return;
    options[key] = usual;
    plan.notes.push_back(plan.rounding.method + "_params." + key + " has no effect: " + why);
  };
  idle("refine_activations", true, refinable, unrefinable);
  const bool refines = options.value("refine_activations", false);
  idle("keep_activations", Json::array(), refinable && refines, refines ? unrefinable : "refine_activations is false");
  idle("update_bias", true, biases, "no layer has a bias that is quantized, or a vector behind it");
  idle("scale_search", true, clipped, "8 bits with a scale per channel are so fine that clipping never pays");
}

}  // namespace quasar::tune
