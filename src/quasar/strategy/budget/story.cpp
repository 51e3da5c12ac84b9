#include "quasar/strategy/budget/story.hpp"

#include "quasar/base/names.hpp"
#include "quasar/strategy/budget/front.hpp"

namespace quasar::tune {
namespace {

std::vector<Story::InFloat> not_in_eight_bits(const BudgetChoices& choices, const search::Trial* last) {
  std::vector<Story::InFloat> out;
  if (last == nullptr) return out;
  for (const Rung& precision : choices.precisions()) {
    for (const auto& nodes : choices.groups().nodes) {
      for (const auto& node : nodes) {
        if (precision.choice != quantized && precision_at(last->point, node) == precision.choice)
          out.push_back({.node = node, .type = precision.name, .why = "best within the budget"});
      }
    }
  }
  return out;
}

}  // namespace

Story budget_story(const StrategyContext& context, const BudgetChoices& choices, const BudgetFacts& facts) {
  Story out{.strategy = "budget", .steps = facts.steps};
  out.budget = {
      {"bounds", budget_bounds(context.job.aim, *context.job.budget)}, {"front", budget_front(context)}, {"more", facts.more}};
  if (facts.least_ms) out.budget["least_latency_ms"] = *facts.least_ms;
  out.in_float = not_in_eight_bits(choices, facts.winner);
  if (facts.loss == nullptr) return out;
  std::vector<Story::Sensitivity> list;
  const graph::Index index(context.trial_context->model);
  for (size_t g = 0; g < choices.groups().nodes.size(); g++) {
    const std::string& node = choices.groups().nodes[g].front();
    Story::Sensitivity one{node, index.node(node)->op_type, {}};
    for (size_t p = 0; p < choices.own(g).size(); p++) {
      if (choices.name_of(g, p) != in_float)
        one.measures.emplace_back("error_in_" + choices.name_of(g, p), facts.loss->alone(g, p));
    }
    list.push_back(std::move(one));
  }
  out.sensitivity = std::move(list);
  out.instrumented_models = 1;
  return out;
}

std::string in_words(const BudgetChoices& choices, const BudgetLoss& loss) {
  std::vector<std::string> names;
  for (const Rung& precision : choices.precisions()) names.push_back(precision.name);
  return "budget: " + std::to_string(choices.groups().nodes.size()) + " groups of operators in " + joined(names) + "; " +
         std::to_string(loss.pairs()) + " pairs measured on " + std::to_string(loss.samples()) + " samples";
}

}  // namespace quasar::tune
