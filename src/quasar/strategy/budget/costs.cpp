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
#include "quasar/strategy/budget/more.hpp"

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

double bytes_as_written(const BudgetModels& models, const BudgetChoices& choices, const Assignment& assignment) {
  return bytes_at(choices.point_of(assignment), models.space, models.variants, models.target);
}

void write(const BudgetModels& models, const BudgetChoices& choices, std::vector<Written>& changed) {
  const Assignment base = choices.all_in(quantized);
  parallel_for(changed.size(), 0, [&](size_t i) {
    Assignment assignment = base;
    for (const auto& [group, choice] : changed[i].changes) assignment[group] = choice;
    changed[i].bytes = bytes_as_written(models, choices, assignment);
  });
}

void measure_singles(const BudgetModels& models, const BudgetChoices& choices, InParts& to) {
  std::vector<Written> changed{{.changes = {}}};
  const Assignment base = choices.all_in(quantized);
  for (size_t g = 0; g < base.size(); g++) {
    for (size_t p = 0; p < choices.own(g).size(); p++) {
      if (p != base[g]) changed.push_back({.changes = {{g, p}}});
    }
  }
  write(models, choices, changed);
  to.constant = changed.front().bytes;
  for (size_t i = 1; i < changed.size(); i++) {
    const auto [group, choice] = changed[i].changes.front();
    to.single[group][choice] = changed[i].bytes - to.constant;
  }
}

void measure_pairs(const BudgetModels& models, const BudgetChoices& choices, InParts& to) {
  std::vector<Written> changed;
  const Assignment base = choices.all_in(quantized);
  for (const auto& [g, h] : choices.groups().neighbours) {
    for (size_t p = 0; p < choices.own(g).size(); p++) {
      for (size_t q = 0; q < choices.own(h).size(); q++) {
        if (p != base[g] && q != base[h]) changed.push_back({.changes = {{g, p}, {h, q}}});
      }
    }
  }
  write(models, choices, changed);
  for (const Written& one : changed) {
    const auto [g, p] = one.changes.front();
    const auto [h, q] = one.changes.back();
    auto& pair = to.pairs[{g, h}];
    pair.resize(choices.own(g).size(), std::vector<double>(choices.own(h).size()));
    pair[p][q] = one.bytes - to.constant - to.single[g][p] - to.single[h][q];
  }
}

// Bytes of the weights alone, [group][precision]: as many bits as the plans of models in one precision have for them.
std::vector<std::vector<double>> bytes_of_weights(const BudgetModels& models, const BudgetChoices& choices) {
  std::vector<std::vector<double>> out = nothing(choices).single;
  const graph::Index index(models.model);
  for (const Rung& precision : choices.precisions()) {
    quant::Config config = quant::parse_config(words_of(models.space, choices.point_of(choices.all_in(precision.name))));
    config.rounding = {};
    const quant::Plan plan = models.variants.plan(config, models.target);
    std::set<const Tensor*> counted;  // layers may share one
    for (size_t g = 0; g < out.size(); g++) {
      size_t p = 0;
      while (p < out[g].size() && choices.name_of(g, p) != precision.name) p++;
      for (const auto& name : choices.groups().nodes[g]) {
        std::string why;
        const auto roles = ops::roles_of(*index.node(name), models.model, why);
        const Tensor* constant =
            roles && roles->weight ? models.model.initializer(index.node(name)->inputs[roles->weight->input]) : nullptr;
        if (p == out[g].size() || constant == nullptr || !counted.insert(constant).second) continue;
        const auto planned = plan.nodes.find(name);
        const bool in_codes = planned != plan.nodes.end() && planned->second.weight;
        const size_t bits = in_codes ? bits_of(planned->second.weight->params.type) : precision.name == float16 ? 16 : 32;
        out[g][p] += static_cast<double>(constant->count() * bits) / 8;
      }
    }
  }
  return out;
}

void count_weights(const BudgetModels& models, const BudgetChoices& choices, InParts& to) {
  const Assignment base = choices.all_in(quantized);
  to.constant = bytes_as_written(models, choices, base);
  const auto weights = bytes_of_weights(models, choices);
  for (size_t g = 0; g < to.single.size(); g++) {
    for (size_t p = 0; p < to.single[g].size(); p++) to.single[g][p] = weights[g][p] - weights[g][base[g]];
  }
}

// Of one that cannot be made: infinite.
double bytes_if_possible(const BudgetModels& models, const BudgetChoices& choices, const Assignment& assignment) {
  try {
    return bytes_as_written(models, choices, assignment);
  } catch (const Error&) {
    return HUGE_VAL;
  }
}

// One group after another in the precision in which the model has fewer bytes, until none has.
void descend(const BudgetModels& models, const BudgetChoices& choices, SmallestModel& from) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t g = 0; g < from.assignment.size(); g++) {
      for (size_t p = 0; p < choices.own(g).size(); p++) {
        Assignment other = from.assignment;
        other[g] = p;
        const double bytes = other == from.assignment ? from.bytes : bytes_if_possible(models, choices, other);
        if (bytes >= from.bytes) continue;
        from = {.assignment = other, .bytes = bytes};
        smaller = true;
      }
    }
  }
}

}  // namespace

BudgetModels models_of(const TrialContext& context) {
  return {context.model, context.space, context.variants, context.target};
}

BoundedCost bytes_of_assignments(const BudgetModels& models, const BudgetChoices& choices) {
  BoundedCost out{.name = "bytes", .parts = nothing(choices), .most = HUGE_VAL};
  const auto whole = static_cast<double>(bytes_of(models.model));
  if (whole > small_enough_to_write) {
    count_weights(models, choices, out.parts);
    return out;
  }
  measure_singles(models, choices, out.parts);
  if (whole <= small_enough_for_pairs) measure_pairs(models, choices, out.parts);
  return out;
}

SmallestModel smallest_model(const BudgetModels& models, const BudgetChoices& choices, const BoundedCost& bytes) {
  SmallestModel out{.assignment = choices.fewest_bits()};
  out.bytes = bytes_as_written(models, choices, out.assignment);
  if (const auto found = cheapest_assignment({.loss = nothing(choices), .costs = {bytes}}, 0)) {
    const double written = bytes_if_possible(models, choices, *found);
    if (written < out.bytes) out = {.assignment = *found, .bytes = written};
  }
  if (static_cast<double>(bytes_of(models.model)) <= small_enough_for_pairs) {
    descend(models, choices, out);
    out.least = out.bytes;
    return out;
  }
  for (const auto& group : bytes_of_weights(models, choices)) out.least += *std::ranges::min_element(group);
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

Json more_within(const StrategyContext& context, const AssignmentProblem& problem, const Assignment& best,
                 const BudgetLoss& loss) {
  const Job& job = context.job;
  if (problem.least) return more_of_loss(problem, best, loss, job.aim.criterion->tolerable_loss);
  const TrialContext& trials = *context.trial_context;
  return more_of_costs(problem, best, loss,
                       {{"bytes", {job.budget->bytes.value_or(0), static_cast<double>(bytes_of(trials.model))}},
                        {"latency", {most_milliseconds(context), trials.float_ms}}});
}

}  // namespace quasar::tune
