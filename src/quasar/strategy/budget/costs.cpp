#include "quasar/strategy/budget/costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "quasar/base/parallel.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/sensitivity/conversion_costs.hpp"
#include "quasar/sensitivity/operator_costs.hpp"

namespace quasar::tune {
namespace {

constexpr double small_enough_for_pairs = 3e6, small_enough_to_write = 16e6;  // bytes of the float model
constexpr double seconds_of_profiles = 6;

// Zeros for all choices.
InParts nothing(const BudgetChoices& choices) {
  InParts out;
  for (size_t g = 0; g < choices.groups().nodes.size(); g++) out.single.emplace_back(choices.own(g).size());
  return out;
}

// A model of which some groups have another precision than all others.
struct Written {
  std::vector<std::pair<size_t, size_t>> changes;  // group, choice
  double bytes = 0;
};

void write(const StrategyContext& context, const BudgetChoices& choices, std::vector<Written>& models) {
  const TrialContext& trials = *context.trial_context;
  const Assignment base = choices.all_in(quantized);
  parallel_for(models.size(), 0, [&](size_t i) {
    Assignment assignment = base;
    for (const auto& [group, choice] : models[i].changes) assignment[group] = choice;
    models[i].bytes = bytes_at(choices.point_of(assignment), trials.space, trials.variants, trials.target);
  });
}

void measure_singles(const StrategyContext& context, const BudgetChoices& choices, InParts& to) {
  std::vector<Written> models{{.changes = {}}};
  const Assignment base = choices.all_in(quantized);
  for (size_t g = 0; g < base.size(); g++) {
    for (size_t p = 0; p < choices.own(g).size(); p++) {
      if (p != base[g]) models.push_back({.changes = {{g, p}}});
    }
  }
  write(context, choices, models);
  to.constant = models.front().bytes;
  for (size_t i = 1; i < models.size(); i++) {
    const auto [group, choice] = models[i].changes.front();
    to.single[group][choice] = models[i].bytes - to.constant;
  }
}

void measure_pairs(const StrategyContext& context, const BudgetChoices& choices, InParts& to) {
  std::vector<Written> models;
  const Assignment base = choices.all_in(quantized);
  for (const auto& [g, h] : choices.groups().neighbours) {
    for (size_t p = 0; p < choices.own(g).size(); p++) {
      for (size_t q = 0; q < choices.own(h).size(); q++) {
        if (p != base[g] && q != base[h]) models.push_back({.changes = {{g, p}, {h, q}}});
      }
    }
  }
  write(context, choices, models);
  for (const Written& model : models) {
    const auto [g, p] = model.changes.front();
    const auto [h, q] = model.changes.back();
    auto& pair = to.pairs[{g, h}];
    pair.resize(choices.own(g).size(), std::vector<double>(choices.own(h).size()));
    pair[p][q] = model.bytes - to.constant - to.single[g][p] - to.single[h][q];
  }
}

double bits_in(const std::string& precision) {
  return precision == "int4" ? 4 : precision == float16 ? 16 : precision == in_float ? 32 : 8;
}

void count_weights(const StrategyContext& context, const BudgetChoices& choices, InParts& to) {
  const TrialContext& trials = *context.trial_context;
  to.constant = bytes_at(choices.point_of(choices.all_in(quantized)), trials.space, trials.variants, trials.target);
  const graph::Index index(trials.model);
  std::set<const Tensor*> counted;  // layers may share one
  for (size_t g = 0; g < to.single.size(); g++) {
    double weights = 0;
    for (const auto& name : choices.groups().nodes[g]) {
      std::string why;
      const auto roles = ops::roles_of(*index.node(name), trials.model, why);
      const Tensor* constant =
          roles && roles->weight ? trials.model.initializer(index.node(name)->inputs[roles->weight->input]) : nullptr;
      if (constant != nullptr && counted.insert(constant).second) weights += static_cast<double>(constant->count());
    }
    for (size_t p = 0; p < to.single[g].size(); p++) to.single[g][p] = weights * (bits_in(choices.name_of(g, p)) - 8) / 8;
  }
}

}  // namespace

BoundedCost bytes_of_assignments(const StrategyContext& context, const BudgetChoices& choices) {
  BoundedCost out{.name = "bytes", .parts = nothing(choices), .most = context.job.budget->bytes.value_or(HUGE_VAL)};
  const auto whole = static_cast<double>(bytes_of(context.trial_context->model));
  if (whole > small_enough_to_write) {
    count_weights(context, choices, out.parts);
    return out;
  }
  measure_singles(context, choices, out.parts);
  if (whole <= small_enough_for_pairs) measure_pairs(context, choices, out.parts);
  return out;
}

namespace {

// Times of one model with every group in the same precision.
OperatorCosts costs_in(const StrategyContext& context, const BudgetChoices& choices, const std::string& precision) {
  const TrialContext& trials = *context.trial_context;
  quant::Config config = quant::parse_config(words_of(trials.space, choices.point_of(choices.all_in(precision))));
  config.rounding = {};
  quant::Plan plan = trials.variants.plan(config, trials.target);
  const graph::Model model = trials.variants.build(config, plan).model;
  return operator_costs(trials.model, model, trials.samples, seconds_of_profiles);
}

double time_at(const std::map<std::string, double>& times, const std::string& value) {
  const auto found = times.find(value);
  return found == times.end() ? 0 : found->second;
}

// Of the nodes that belong to groups and that follow them. `base`: the quantized model, whose profile has the float model's too.
void add_operators(const StrategyContext& context, const BudgetChoices& choices, const OperatorCosts& base, BoundedCost& to) {
  std::map<std::string, OperatorCosts> other;
  for (const Rung& precision : choices.precisions()) {
    if (precision.choice != quantized && precision.choice != in_float)
      other.emplace(precision.name, costs_in(context, choices, precision.name));
  }
  for (const auto& node : context.trial_context->model.nodes) {
    const auto group = choices.groups().of_node.find(node.name);
    if (group == choices.groups().of_node.end()) continue;
    for (size_t p = 0; p < choices.own(group->second).size(); p++) {
      const std::string& name = choices.name_of(group->second, p);
      const OperatorCosts& costs = other.contains(name) ? other.at(name) : base;
      const auto found = costs.operators.find(node.name);
      if (found == costs.operators.end()) continue;  // part of another
      double& time = to.parts.single[group->second][p];
      time += name == in_float ? found->second.in_float : found->second.quantized;
      if (!other.contains(name)) continue;
      for (const auto& output : node.outputs) time += time_at(costs.entering, output) + time_at(costs.leaving, output);
    }
  }
}

void add_crossings(const StrategyContext& context, const BudgetChoices& choices, const ConversionCosts& conversions,
                   BoundedCost& to) {
  const graph::Model& model = context.trial_context->model;
  const graph::Index index(model);
  const auto group_of = [&](const graph::Node& node) -> std::optional<size_t> {
    const auto found = choices.groups().of_node.find(node.name);
    return found == choices.groups().of_node.end() ? std::nullopt : std::optional(found->second);
  };
  const auto add = [&](const std::string& value, std::optional<size_t> writer) {
    Crossing crossing{writer, {}, conversions.entering(value), conversions.leaving(value)};
    for (const graph::Node* reader : index.consumers(value)) crossing.readers.push_back(group_of(*reader));
    if (index.is_output(value)) crossing.readers.emplace_back();
    if (std::ranges::any_of(crossing.readers, [&](const auto& reader) { return reader != writer; }))
      to.crossings.push_back(std::move(crossing));
  };
  for (const auto& input : model.inputs) add(input.name, std::nullopt);
  for (const auto& node : model.nodes) {
    for (const auto& output : node.outputs) add(output, group_of(node));
  }
}

}  // namespace

BoundedCost latency_of_assignments(const StrategyContext& context, const BudgetChoices& choices) {
  const TrialContext& trials = *context.trial_context;
  BoundedCost out{.name = "latency", .parts = nothing(choices)};
  for (size_t g = 0; g < out.parts.single.size(); g++) {
    out.in_codes.emplace_back();
    for (size_t p = 0; p < choices.own(g).size(); p++) {
      const std::string& name = choices.name_of(g, p);
      out.in_codes.back().push_back(name == quantized || name == "int16");
    }
  }
  const OperatorCosts base = costs_in(context, choices, quantized);
  const quant::Config config = quant::parse_config(words_of(trials.space, choices.base()));
  add_operators(context, choices, base, out);
  add_crossings(context, choices, ConversionCosts(base, trials.variants.seen(config)), out);
  // What a run takes besides, and microseconds of a profile as milliseconds of the study.
  out.parts.constant = base.quantized - out.of(choices.all_in(quantized));
  const double pace = base.in_float > 0 && trials.float_ms > 0 ? trials.float_ms / base.in_float : 1e-3;
  out.parts.constant *= pace;
  for (auto& group : out.parts.single) {
    for (double& time : group) time *= pace;
  }
  for (Crossing& crossing : out.crossings) {
    crossing.entering *= pace;
    crossing.leaving *= pace;
  }
  out.most = most_milliseconds(context);
  return out;
}

double most_milliseconds(const StrategyContext& context) {
  const Budget& budget = *context.job.budget;
  const double share = budget.relative_latency ? *budget.relative_latency * context.trial_context->float_ms : HUGE_VAL;
  return std::min(budget.milliseconds.value_or(HUGE_VAL), share);
}

double milliseconds_of(const Measures& measures, const StrategyContext& context) {
  if (measures.contains("latency")) return measures.at("latency");
  return measures.contains("relative_latency") ? measures.at("relative_latency") * context.trial_context->float_ms : 0;
}

}  // namespace quasar::tune
