#include "quasar/trial/foresight.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "quasar/base/machine.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/spaces.hpp"

namespace quasar::tune {
namespace {

constexpr size_t few_weights = size_t{1} << 20;
constexpr size_t drawn = 32;          // samples, of more than twice as many
constexpr double equal_up_to = 1e-9;  // of a value: the same model scores alike, but for the order of a sum

bool alike(double a, double b) {
  return std::abs(a - b) <= equal_up_to * std::abs(b);
}

}  // namespace

bool Foresight::can_tell() const {
  const Aim& aim = context_.job.aim;
  return aim.criterion && !aim.evaluator && aim.goals.constraints.empty() && !criterion_is_constraint(aim);
}

// By what decides it on every machine alike, and no clock.
bool Foresight::takes_long(const quant::Config& config, const quant::Plan& plan) const {
  if (plan.rounding.method == quant::Rounding().method) return false;
  const graph::Model& model = context_.variants.graph_of(config)->model;
  size_t layers = 0, weights = 0;
  for (const auto& node : model.nodes) {
    const auto found = plan.nodes.find(node.name);
    if (found == plan.nodes.end() || !found->second.weight) continue;
    layers++;
    weights += model.initializer(node.inputs.at(found->second.weight->input))->count();
  }
  return layers > quick_ || weights > few_weights;
}

bool Foresight::begin(const search::Trial& trial) {
  rounded_.reset();
  const std::string& metric = context_.job.aim.goals.objectives.front().metric;
  const Measures measured = measures_of(context_.job.aim.goals, trial);
  if (!can_tell() || !measured.contains(metric)) return false;
  const quant::Config config = quant::while_rounding(quant::parse_config(words_of(context_.space, trial.point)));
  if (!takes_long(config, plan_of(context_, config))) return false;
  rounded_ = rounded_plan(context_, config);
  const bool exact_before = order_.empty();
  order_.clear();
  value_ = measured.at(metric);
  const auto loan = context_.devices.take();
  const eval::Scores scores = context_.evaluator.score(model_of(trial.point), cores(), loan.device());
  const auto found = scores.find(metric);
  if (found == scores.end() || !alike(found->second.value, value_)) {
    rounded_.reset();
    return false;
  }
  choose_samples(found->second.per_sample, value_);
  // What other codes are worth, or what was estimated from another trial, is known no longer.
  std::string hash = quant::hash_of(*rounded_);
  if (std::exchange(hash_, hash) != hash || !exact_before || !order_.empty()) known_.clear();
  return true;
}

void Foresight::choose_samples(const std::vector<double>& values, double value) {
  const std::string& metric = context_.job.aim.metrics.front();
  const std::vector<double>& exact = context_.evaluator.reference().at(metric).per_sample;
  const size_t all = context_.evaluator.samples();
  if (metric != context_.job.aim.goals.objectives.front().metric || values.size() != all || exact.size() != all) return;
  if (all <= 2 * drawn || !alike(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(all), value)) return;
  std::vector<double> lost(all);
  for (size_t i = 0; i < all; i++) lost[i] = std::abs(values[i] - exact[i]);
  const double mean = std::accumulate(lost.begin(), lost.end(), 0.0) / static_cast<double>(all);
  if (!(mean > 0) || !std::isfinite(mean)) return;
  std::vector<size_t> sorted(all), rest;
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::ranges::stable_sort(sorted, {}, [&](size_t i) { return lost[i]; });
  weights_.clear();
  values_.clear();
  const double step = 2 * mean * static_cast<double>(all) / drawn;
  double sum = 0, next = step / 2;
  for (const size_t i : sorted) {
    size_t times = 0;
    for (sum += lost[i] + mean; next < sum && times < drawn; next += step) times++;
    if (times == 0) {
      rest.push_back(i);
      continue;
    }
    order_.push_back(i);
    values_.push_back(values[i]);
    weights_.push_back(static_cast<double>(times) * step / (lost[i] + mean) / static_cast<double>(all));
  }
  order_.insert(order_.end(), rest.begin(), rest.end());
}

bool Foresight::meets(const search::Point& point, double factor) {
  if (!rounded_) return false;
  auto known = std::ranges::find(known_, point, &std::pair<search::Point, std::optional<double>>::first);
  if (known == known_.end()) {
    known_.emplace_back(point, why_impossible(context_, point).empty() ? value_at(point) : std::nullopt);
    known = std::prev(known_.end());
  }
  if (!known->second) return false;
  const AccuracyCriterion& criterion = *context_.job.aim.criterion;
  const Measures baseline = measures_of(context_.evaluator.reference());
  const Measures measures{{context_.job.aim.goals.objectives.front().metric, *known->second}};
  const double loss = loss_of(criterion, measures, baseline), excess = excess_of(criterion, measures, baseline);
  return excess <= 0 || factor * loss <= loss - excess;
}

graph::Model Foresight::model_of(const search::Point& point) const {
  const quant::Config config = quant::parse_config(words_of(context_.space, point));
  return context_.variants.built_alike(config, plan_of(context_, config), *rounded_);
}

// nullopt: the model does not run, which a trial would tell.
std::optional<double> Foresight::value_at(const search::Point& point) const {
  try {
    return value_of(model_of(point));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// On all cores, as no trial runs meanwhile. nullopt: its outputs cannot be compared.
std::optional<double> Foresight::value_of(const graph::Model& model) const {
  const auto loan = context_.devices.take();
  std::vector<double> seen;
  const auto referee = [&](std::span<const double> values) {
    seen.assign(values.begin(), values.end());
    return seen.size() < values_.size();
  };
  if (order_.empty()) {
    const eval::Scores scores = context_.evaluator.score(model, cores(), loan.device());
    const auto found = scores.find(context_.job.aim.goals.objectives.front().metric);
    return found == scores.end() ? std::nullopt : std::optional(found->second.value);
  }
  context_.evaluator.race(model, cores(), referee, loan.device(), order_);
  if (seen.size() < values_.size()) return std::nullopt;
  double value = value_;
  for (size_t i = 0; i < values_.size(); i++) value += weights_[i] * (seen[i] - values_[i]);
  return value;
}

}  // namespace quasar::tune
