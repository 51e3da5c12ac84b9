#include "quasar/tune/ranking.hpp"

#include <algorithm>

namespace quasar::tune {

std::vector<UnitError> by_gain(const graph::Model& model, const quant::Plan& plan, const std::set<std::string>& nodes,
                               const data::Dataset& samples) {
  std::vector<UnitError> units = alone(ToggledModel(model, plan), samples);
  std::erase_if(units, [&](const UnitError& unit) { return !nodes.contains(unit.unit.node); });
  for (const auto& node : model.nodes) {
    const bool known = std::ranges::any_of(units, [&](const UnitError& unit) { return unit.unit.node == node.name; });
    if (!known && nodes.contains(node.name) && plan.nodes.contains(node.name))
      units.push_back({.unit = {.node = node.name, .op_type = node.op_type}});
  }
  double work = 0;
  for (const auto& unit : units) work += unit.work;
  const double share = static_cast<double>(units.size()) / std::max(work, 1.0);
  const auto gain = [&](const UnitError& unit) { return unit.output_error * unit.output_error / (1 + share * unit.work); };
  std::stable_sort(units.begin(), units.end(), [&](const auto& a, const auto& b) { return gain(a) > gain(b); });
  return units;
}

}  // namespace quasar::tune
