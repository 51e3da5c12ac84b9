#include "quasar/strategy/budget/space.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/trial/nothing_quantized.hpp"

namespace quasar::tune {
namespace {

using NodeNames = std::set<std::string>;

// Weights in half the bits, one scale per output channel; activations stay as the space has them.
Json four_bits() {
  return {{"weight", "Int4Spec"},
          {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMSE"}, {"quant_granularity", "Channel"}}}};
}

NodeNames with_weights(const std::vector<std::string>& nodes, const graph::Model& model) {
  NodeNames out;
  const graph::Index index(model);
  for (const auto& name : nodes) {
    std::string why;
    const auto roles = ops::roles_of(*index.node(name), model, why);
    if (roles && roles->weight && !index.node(name)->is("Gather")) out.insert(name);
  }
  return out;
}

// Whether the types of layers are the user's own, which ours would contradict.
bool has_types_of_layers(const Json& search_space) {
  const auto has = [&](const char* key) { return search_space.contains(key); };
  return has("specific_layer_config") || has("layer_type_config") || has("include_auto_mp");
}

// Those that only save bytes are left out where time alone counts: ONNX Runtime's CPU computes them in float. Where bytes count
// too, the integer program weighs what they take.
std::vector<std::string> wanted_by(const Budget& budget) {
  if (!budget.precisions.empty()) return budget.precisions;
  return !budget.weighs_bytes() ? std::vector<std::string>{quantized, "int16", in_float} : budget_precisions();
}

}  // namespace

std::vector<Rung> precisions_of(const Budget& budget, const Json& search_space, const graph::Model& model,
                                const quant::Target& target) {
  const auto nodes = repairable_nodes(Approach::static_ranges, search_space, model, target);
  if (nodes.empty()) {
    const std::string why = why_nothing(model, quant::NodeForm::pairs);
    throw Error("nothing in this model can be quantized on this target" + (why.empty() ? "" : ": " + why));
  }
  const NodeNames all(nodes.begin(), nodes.end());
  const auto rungs = rungs_of(Approach::static_ranges, search_space, model, target);
  const bool named = !budget.precisions.empty();
  std::vector<Rung> out;
  for (const auto& name : budget_precisions()) {
    const auto wanted = wanted_by(budget);
    if (std::ranges::find(wanted, name) == wanted.end()) continue;
    Rung one{name, nullptr, {}};
    if (name == quantized || name == in_float) {
      one = {name, name, all};
    } else if (name == "int4") {
      if (!target.shifts() && !has_types_of_layers(search_space)) one = {name, four_bits(), with_weights(nodes, model)};
    } else if (name == float16) {
      if (!target.shifts() && !has_types_of_layers(search_space)) one = {name, float16, with_weights(nodes, model)};
    } else {
      for (const Rung& rung : rungs) {
        if (rung.name == "A16W8") one = {name, rung.choice, rung.nodes};
      }
    }
    if (!one.nodes.empty()) {
      out.push_back(std::move(one));
    } else if (named) {
      throw Error("budget.precisions names " + name + ", which no operator of this model can have on this target" +
                  (has_types_of_layers(search_space) ? " beside types of layers that the space gives itself" : ""));
    }
  }
  return out;
}

Json with_precisions(const Budget& budget, Json search_space, const graph::Model& model, const quant::Target& target) {
  const auto precisions = precisions_of(budget, search_space, model, target);
  for (const auto& node : repairable_nodes(Approach::static_ranges, search_space, model, target)) {
    Json choices = Json::array({quantized});
    for (const auto& one : precisions) {
      if (one.choice != quantized && one.nodes.contains(node)) choices.push_back(one.choice);
    }
    search_space[precision_of(node)] = choices;
  }
  return search_space;
}

}  // namespace quasar::tune
