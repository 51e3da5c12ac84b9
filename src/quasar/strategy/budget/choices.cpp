#include "quasar/strategy/budget/choices.hpp"

#include <algorithm>
#include <map>

#include "quasar/base/names.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/strategy/strategy.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::tune {

BudgetChoices::BudgetChoices(const Budget& budget, const Json& search_space, const search::Space& space,
                             const graph::Model& model, const quant::Target& target)
    : space_(space),
      precisions_(precisions_of(budget, search_space, model, target)),
      groups_(operator_groups(model, repairable_nodes(Approach::static_ranges, search_space, model, target), budget.groups)),
      base_(default_point(space)) {
  for (const auto& nodes : groups_.nodes) {
    own_.emplace_back();
    for (size_t p = 0; p < precisions_.size(); p++) {
      const auto can = [&](const std::string& node) { return precisions_[p].nodes.contains(node); };
      if (std::ranges::any_of(nodes, can)) own_.back().push_back(p);
    }
  }
}

Assignment BudgetChoices::all_in(const std::string& precision) const {
  Assignment out;
  for (size_t g = 0; g < own_.size(); g++) {
    const auto place_of = [&](const std::string& name) {
      size_t choice = 0;
      while (choice < own_[g].size() && name_of(g, choice) != name) choice++;
      return choice;
    };
    const size_t choice = place_of(precision);
    out.push_back(choice < own_[g].size() ? choice : place_of(quantized));
  }
  return out;
}

Assignment BudgetChoices::fewest_bits() const {
  return Assignment(own_.size(), 0);
}

search::Point BudgetChoices::point_of(const Assignment& assignment) const {
  std::vector<std::pair<std::string, Json>> changes;
  for (size_t g = 0; g < assignment.size(); g++) {
    const Rung& precision = precisions_[own_[g][assignment[g]]];
    const char* other = precision.name == float16 ? in_float : quantized;  // of what has no weights, and saves no bytes so
    for (const auto& node : groups_.nodes[g])
      changes.emplace_back(precision_of(node), precision.nodes.contains(node) ? precision.choice : Json(other));
  }
  return changed(space_, base_, changes);
}

std::string BudgetChoices::in_words(const Assignment& assignment) const {
  std::map<std::string, size_t> counts;
  for (size_t g = 0; g < assignment.size(); g++) {
    const Rung& precision = precisions_[own_[g][assignment[g]]];
    if (precision.choice == quantized) continue;
    for (const auto& node : groups_.nodes[g]) counts[precision.name] += precision.nodes.contains(node) ? 1 : 0;
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(std::to_string(count) + " in " + name);
  return parts.empty() ? "all in 8 bits" : joined(parts);
}

double bytes_at(const search::Point& point, const search::Space& space, Variants& variants, const quant::Target& target) {
  quant::Config config = quant::parse_config(words_of(space, point));
  config.rounding = {};
  quant::Plan plan = variants.plan(config, target);
  return static_cast<double>(bytes_of(variants.build(config, plan).model));
}

}  // namespace quasar::tune
