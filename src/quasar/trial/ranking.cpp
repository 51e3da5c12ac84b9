#include "quasar/trial/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quasar/base/hash.hpp"
#include "quasar/job/spaces.hpp"

namespace quasar::tune {

std::vector<UnitError> by_gain(const TrialContext& context, const search::Point& point, const std::set<std::string>& nodes,
                               const data::Dataset& samples, const Sharer& sharer) {
  const quant::Config config = quant::parse_config(words_of(context.space, point));
  const quant::Plan plan = rounded_plan(context, config);
  const auto graph = context.variants.graph_of(config);
  const auto distance = [&](const auto& a, const auto& b) { return context.evaluator.distance(a, b); };
  const SharedBy shared{sharer, hash_of(quant::hash_of(plan) + ' ' + std::to_string(samples.size()))};
  std::vector<UnitError> units = alone(instrumented(context, config, plan), samples, 0, distance, {}, shared);
  std::erase_if(units, [&](const UnitError& unit) { return !nodes.contains(unit.unit.node); });
  for (const auto& node : graph->model.nodes) {
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

bool outputs_compare(std::span<const UnitError> units) {
  return std::ranges::all_of(units, [](const UnitError& unit) { return std::isfinite(unit.output_error); });
}

bool ranked_locally_if_need_be(std::vector<UnitError>& units) {
  if (outputs_compare(units)) return true;
  std::ranges::stable_sort(units, std::ranges::greater(), &UnitError::noise_to_signal);
  return false;
}

std::vector<std::string> by_least_harm(std::vector<UnitError> units) {
  const bool compare = outputs_compare(units);
  const auto harm = [&](const UnitError& unit) {
    const double error = compare ? unit.output_error : unit.noise_to_signal;
    return std::pair(unit.work == 0, error);
  };
  std::ranges::stable_sort(units, {}, harm);
  std::vector<std::string> nodes;
  for (const auto& unit : units) nodes.push_back(unit.unit.node);
  return nodes;
}

}  // namespace quasar::tune
