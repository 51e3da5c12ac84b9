// Layers that read one constant: steps of an unrolled loop, heads of a detector, models that repeat one block. Their codes are
// chosen once, for the inputs of all of them, or each would store codes of its own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/rounding/layer_context.hpp"
#include "quasar/rounding/layer_moments.hpp"
#include "quasar/rounding/linear_layer.hpp"
#include "quasar/rounding/rounding_report.hpp"

namespace quasar::tune {

struct SharedWeight {
  std::vector<size_t> layers;           // indices, in the model's order
  std::optional<Moments> moments = {};  // of those that were seen
  bool is_last(size_t layer) const { return layers.back() == layer; }
  void add(const LinearLayer& layer, const Moments& seen);
};

// Layer (an index, one of `chosen`) -> what it shares; layers with weights of their own have none. Those that share read one
// constant, and one bias if any, are of one form and shape, and are to have the same codes before any is rounded.
// Those with more than `most_inputs` have no moments, and are rounded each by itself.
std::map<size_t, std::shared_ptr<SharedWeight>> shared_weights(const std::vector<LinearLayer>& layers,
                                                               std::span<const size_t> chosen, const graph::Model& model,
                                                               const quant::Plan& plan, size_t most_inputs);

// How such a layer is rounded: a bias stays as it is, as the mean errors of the layers differ; and with a bias of 32 bits, whose
// scale would follow, the weights' scale stays too.
quant::LayerSettings settings_for_shared(quant::LayerSettings settings, const LinearLayer& layer);

// What was chosen for the last of the layers that share their weights, which the report ends with.
void give_to_all(const SharedWeight& shared, const std::vector<LinearLayer>& layers, quant::Plan& plan, RoundingReport& report);

}  // namespace quasar::tune
