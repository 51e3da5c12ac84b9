#include "quasar/strategy/budget/loss.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/sensitivity/joint_errors.hpp"
#include "quasar/sensitivity/unit_errors.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_groups_in_all_pairs = 16;
constexpr size_t least_samples = 4, most_samples = 256;
constexpr double most_work = 1e11, most_pieces = 1e6;  // multiply-adds, and operators that run, until all effects are measured
constexpr double uncertain = 0.3;                      // share of an effect
constexpr double uncertain_of_all = 0.05;              // of what the best trial loses
constexpr double noise = 0.02;                         // of a trial's squared loss

std::vector<std::pair<size_t, size_t>> pairs_of(const OperatorGroups& groups) {
  const size_t count = groups.nodes.size();
  if (count > most_groups_in_all_pairs) return groups.neighbours;
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t g = 0; g < count; g++) {
    for (size_t h = g + 1; h < count; h++) out.emplace_back(g, h);
  }
  return out;
}

// The precisions that are not float32: the space's own first, which decides what a unit is.
std::vector<size_t> levels_of(const BudgetChoices& choices) {
  std::vector<size_t> out;
  for (size_t p = 0; p < choices.precisions().size(); p++) {
    if (choices.precisions()[p].choice == quantized) out.insert(out.begin(), p);
    if (choices.precisions()[p].choice != quantized && choices.precisions()[p].choice != in_float) out.push_back(p);
  }
  return out;
}

// A model in which every group can have each of these precisions.
ToggledModel with_levels(const StrategyContext& context, const BudgetChoices& choices, const std::vector<size_t>& levels) {
  const TrialContext& trials = *context.trial_context;
  std::vector<quant::Plan> plans;
  std::optional<quant::Config> first;
  for (const size_t level : levels) {
    const auto point = choices.point_of(choices.all_in(choices.precisions()[level].name));
    const quant::Config config = quant::parse_config(words_of(trials.space, point));
    if (!first) first = config;
    plans.push_back(rounded_plan(trials, config));
  }
  return {trials.evaluator.judged(trials.variants.graph_of(*first)->model), plans, context.job.limits.memory};
}

// Units of each group; a unit of none is always in float here.
std::vector<std::vector<size_t>> units_of(const ToggledModel& model, const OperatorGroups& groups) {
  std::vector<std::vector<size_t>> out(groups.nodes.size());
  for (size_t u = 0; u < model.units().size(); u++) {
    const auto group = groups.of_node.find(model.units()[u].node);
    if (group != groups.of_node.end()) out[group->second].push_back(u);
  }
  return out;
}

// Number of a precision among these levels; nullopt: it is float32.
std::optional<size_t> place_in(const std::vector<size_t>& levels, size_t precision) {
  const auto found = std::ranges::find(levels, precision);
  return found == levels.end() ? std::nullopt : std::optional(static_cast<size_t>(found - levels.begin()));
}

// As many samples as so many runs of each leave time for. A run takes what is behind what was switched, half a model on average.
size_t samples_for(const ToggledModel& model, const data::Dataset& samples, double runs) {
  const auto units = static_cast<double>(std::max<size_t>(model.units().size(), 1));
  const double work = work_by_units(model, samples.at(0)) / 2 / units;
  const double most = std::min(most_work / std::max(work, 1.0), most_pieces / (units / 2)) / runs;
  return std::min(samples.size(), static_cast<size_t>(std::clamp<double>(most, least_samples, most_samples)));
}

void require_finite(const JointErrors& errors) {
  for (const auto& group : errors.single) {
    if (std::ranges::all_of(group, [](double error) { return std::isfinite(error); })) continue;
    throw ToggledModelFailed(Error("outputs cannot be compared with the float model's: their number depends on the data"));
  }
}

// x of (K + noise² I) x = b by Cholesky's decomposition; K: a few trials.
std::vector<double> solved(std::vector<std::vector<double>> matrix, std::vector<double> right) {
  const size_t size = right.size();
  for (size_t j = 0; j < size; j++) {
    for (size_t k = 0; k < j; k++) {
      for (size_t i = j; i < size; i++) matrix[i][j] -= matrix[i][k] * matrix[j][k];
    }
    const double root = std::sqrt(std::max(matrix[j][j], 1e-300));
    for (size_t i = j; i < size; i++) matrix[i][j] /= root;
  }
  for (size_t i = 0; i < size; i++) {
    for (size_t k = 0; k < i; k++) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (size_t i = size; i-- > 0;) {
    for (size_t k = i + 1; k < size; k++) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

}  // namespace

double lost_by(const search::Trial& trial, const StrategyContext& context) {
  const Aim& aim = context.job.aim;
  const Objective& objective = aim.goals.objectives.front();
  const auto& reference = context.trial_context->evaluator.reference();
  if (aim.criterion) return loss_of(*aim.criterion, measures_of(aim.goals, trial), measures_of(reference));
  const auto known = reference.find(objective.metric);
  const double was = known == reference.end() ? 0 : known->second.value, is = trial.values.front();
  return objective.direction == Direction::maximize ? was - is : is - was;
}

namespace {

bool is_distance(const StrategyContext& context) {
  const Aim& aim = context.job.aim;
  if (aim.criterion && aim.criterion->parts.size() > 1) return false;
  const Objective& objective = aim.goals.objectives.front();
  const std::string metric = aim.criterion ? aim.criterion->parts.front().metric : objective.metric;
  const Direction direction = aim.criterion ? aim.criterion->parts.front().direction : objective.direction;
  const auto& reference = context.trial_context->evaluator.reference();
  const auto known = reference.find(metric);
  return direction == Direction::minimize && known != reference.end() && known->second.value == 0;
}

}  // namespace

BudgetLoss::BudgetLoss(const StrategyContext& context, const BudgetChoices& choices)
    : squares_(is_distance(context)), measured_(measure(context, choices)), parts_(measured_) {}

InParts BudgetLoss::measure(const StrategyContext& context, const BudgetChoices& choices) {
  const std::vector<size_t> levels = levels_of(choices);
  const ToggledModel model = with_levels(context, choices, levels);
  const auto pairs = pairs_of(choices.groups());
  const size_t groups = choices.groups().nodes.size(), runs = levels.size() * (groups + levels.size() * pairs.size());
  samples_ = samples_for(model, *context.samples, static_cast<double>(runs));
  const auto distance = [&](const auto& a, const auto& b) { return context.trial_context->evaluator.distance(a, b); };
  const JointErrors errors =
      joint_errors(model, units_of(model, choices.groups()), levels.size(), pairs, *data::first(context.samples, samples_),
                   distance, squares_ ? Squared::mean_distance : Squared::each_distance);
  require_finite(errors);
  InParts out;
  for (size_t g = 0; g < groups; g++) {
    out.single.emplace_back();
    for (const size_t precision : choices.own(g)) {
      const auto level = place_in(levels, precision);
      out.single.back().push_back(level ? errors.single[g][*level] : 0);
    }
  }
  for (size_t i = 0; i < pairs.size(); i++) {
    const auto& [g, h] = pairs[i];
    auto& values = out.pairs[pairs[i]];
    for (const size_t first : choices.own(g)) {
      values.emplace_back();
      for (const size_t second : choices.own(h)) {
        const auto a = place_in(levels, first), b = place_in(levels, second);
        values.back().push_back(a && b ? errors.pairs[i][*a][*b] : 0);
      }
    }
  }
  return out;
}

double BudgetLoss::alone(size_t group, size_t choice) const {
  return std::sqrt(std::max(measured_.single[group][choice], 0.0));
}

double BudgetLoss::as_loss(double estimate) const {
  const double loss = unit_ * std::max(estimate, 0.0);
  return squares_ ? std::sqrt(loss) : loss;
}

double BudgetLoss::as_estimate(double loss) const {
  if (std::ranges::none_of(seen_, [](const Seen& one) { return one.squared > 0; })) return HUGE_VAL;
  return (squares_ ? loss * std::abs(loss) : loss) / unit_;
}

double BudgetLoss::uncertainty(size_t group, size_t choice) const {
  double least = HUGE_VAL;
  for (const Seen& one : seen_) least = std::min(least, one.squared / unit_);
  return uncertain * measured_.single[group][choice] + (std::isfinite(least) ? uncertain_of_all * least : 0);
}

double BudgetLoss::likeness(const Assignment& a, const Assignment& b) const {
  double sum = 0;
  for (size_t g = 0; g < a.size(); g++) {
    const double effect = uncertainty(g, a[g]);
    if (a[g] == b[g]) sum += effect * effect;
  }
  return sum;
}

void BudgetLoss::learn(const Assignment& assignment, double loss) {
  if (!std::isfinite(loss)) return;
  seen_.push_back({assignment, squares_ ? loss * loss : std::max(loss, 0.0)});
  double products = 0, squares = 0;
  for (const Seen& one : seen_) {
    const double estimate = std::max(measured_.of(one.assignment), 0.0);
    products += estimate * one.squared;
    squares += estimate * estimate;
  }
  parts_ = measured_;
  if (products <= 0 || squares <= 0) return;
  unit_ = products / squares;
  std::vector<std::vector<double>> likenesses(seen_.size(), std::vector<double>(seen_.size()));
  std::vector<double> wrong;
  for (size_t i = 0; i < seen_.size(); i++) {
    const double is = seen_[i].squared / unit_;
    wrong.push_back(is - measured_.of(seen_[i].assignment));
    for (size_t j = 0; j < seen_.size(); j++) likenesses[i][j] = likeness(seen_[i].assignment, seen_[j].assignment);
    likenesses[i][i] += std::max(noise * noise * is * is, 1e-30);
  }
  const std::vector<double> shares = solved(likenesses, wrong);
  for (size_t i = 0; i < seen_.size(); i++) {
    const Assignment& seen = seen_[i].assignment;
    for (size_t g = 0; g < seen.size(); g++) {
      const double effect = uncertainty(g, seen[g]);
      parts_.single[g][seen[g]] += shares[i] * effect * effect;
    }
  }
}

}  // namespace quasar::tune
