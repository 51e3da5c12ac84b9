#include "quasar/sensitivity/operator_costs.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "quasar/runtime/node_times.hpp"

namespace quasar::tune {
namespace {

// The value of the float model that a pair stands on (quant::apply() says how they are called).
std::string paired(const std::string& name) {
  for (const std::string_view ending : {"_float", "_dequantized"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

}  // namespace

OperatorCosts operator_costs(const graph::Model& model, const graph::Model& quantized, const data::Dataset& samples,
                             double seconds, int threads) {
  const std::array models{&model, &quantized};
  const auto times =
      runtime::node_times(models, samples, {.turns = 20, .seconds = seconds, .at_least = 0.03, .threads = threads});
  OperatorCosts out{.operators = {}, .entering = {}, .leaving = {}, .in_float = times[0].run, .quantized = times[1].run};
  const graph::Index before(model);
  for (const auto& [name, time] : times[0].nodes) out.operators[name].in_float += time;
  for (const auto& node : quantized.nodes) {
    const auto found = times[1].nodes.find(node.name);
    if (found == times[1].nodes.end()) continue;
    if (before.node(node.name) != nullptr) {
      out.operators[node.name].quantized += found->second;
    } else if (node.is("QuantizeLinear")) {
      out.entering[paired(node.inputs.front())] += found->second;
    } else if (node.is("DequantizeLinear")) {
      out.leaving[paired(node.outputs.front())] += found->second;
    }
  }
  return out;
}

Json to_json(const OperatorCosts& costs, const graph::Model& model) {
  Json operators = Json::array();
  const graph::Index index(model);
  for (const auto& [name, cost] : costs.operators) {
    const graph::Node* node = index.node(name);
    if (node == nullptr) continue;
    operators.push_back({{"node", name}, {"type", node->op_type}, {"float_us", cost.in_float}, {"quantized_us", cost.quantized}});
  }
  const auto loss = [](const Json& one) { return one["quantized_us"].get<double>() - one["float_us"].get<double>(); };
  std::stable_sort(operators.begin(), operators.end(), [&](const Json& a, const Json& b) { return loss(a) > loss(b); });
  const auto sum = [](const std::map<std::string, double>& times) {
    double out = 0;
    for (const auto& [value, time] : times) out += time;
    return out;
  };
  return {{"float_us", costs.in_float},
          {"quantized_us", costs.quantized},
          {"entering_us", sum(costs.entering)},
          {"leaving_us", sum(costs.leaving)},
          {"operators", operators}};
}

}  // namespace quasar::tune
