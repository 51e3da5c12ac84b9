#include "quasar/trial/foresight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "quasar/base/hash.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"
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

double mean_of(const std::vector<double>& values) {
  return eval::sum(values.size(), [&](size_t i) { return values[i]; }) / static_cast<double>(values.size());
}

// What looks at models when the judge has lent this device.
runtime::Device stand_in_for(const runtime::Device& judge) {
  return judge.library == runtime::Library::onnxruntime ? judge : runtime::Device();
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
  if (rounded_ && begun_with_ == trial.number) return true;
  rounded_.reset();
  const Measures measured = measures_of(context_.job.aim.goals, trial);
  if (!can_tell() || !measured.contains(metric())) return false;
  const quant::Config config = quant::while_rounding(quant::parse_config(words_of(context_.space, trial.point)));
  if (!takes_long(config, plan_of(context_, config))) return false;
  rounded_ = rounded_plan(context_, config);
  value_ = measured.at(metric());
  const bool exact_before = is_exact_;
  const std::string before = std::exchange(hash_, quant::hash_of(*rounded_));
  if (!scores_as(trial)) {
    rounded_.reset();
    known_.clear();
    return false;
  }
  // What other codes are worth, or what was estimated from another trial, is known no longer.
  if (before != hash_ || !exact_before || !is_exact_) known_.clear();
  begun_with_ = trial.number;
  return true;
}

// Whether the trial's model, made of these codes, has its value. Chooses the samples by what it has on each.
bool Foresight::scores_as(const search::Trial& trial) {
  const quant::Config config = quant::parse_config(words_of(context_.space, trial.point));
  const quant::Plan plan = plan_of(context_, config);
  const graph::Model model = model_of(config, plan);
  const auto loan = context_.devices.take();
  const runtime::Device device = stand_in_for(loan.device());
  const std::string& first = context_.job.aim.metrics.front();
  const size_t all = context_.evaluator.samples();
  order_.clear();
  is_exact_ = device == loan.device();
  if (metric() != first || context_.evaluator.reference().at(first).per_sample.size() != all) {
    const eval::Scores scores = context_.evaluator.score(model, cores(), device);
    const auto found = scores.find(metric());
    return found != scores.end() && agrees(found->second.value);
  }
  order_.resize(all);
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::vector<double> values = is_exact_ ? known_values(trial, content_of(model, plan)) : std::vector<double>();
  const bool at_hand = values.size() == all;
  values.resize(all);
  const auto note = [&](size_t i, double value) {
    values[i] = value;
    return true;
  };
  const std::string hash = quant::hash_of(plan);
  if (at_hand) {
    tell_others(values, hash);
  } else {
    look(model, device, hash, note);
  }
  if (!agrees(mean_of(values))) return false;
  choose_samples(values);
  return true;
}

// Of every sample, where this process has scored the trial and its model is the very same; empty otherwise.
std::vector<double> Foresight::known_values(const search::Trial& trial, const std::string& content) const {
  const auto own = trial.user_attributes.find(content_attribute);
  const auto scores = context_.book.by_sample(trial.number);
  if (!scores || own == trial.user_attributes.end() || *own != content) return {};
  return scores->at(metric()).per_sample;
}

// Of the work that is shared: what the model of this plan has on each sample of order_.
std::string Foresight::work_on(const std::string& plan) const {
  return hash_of(hash_ + ' ' + plan + (is_exact_ ? " " : " by another library ") + Json(order_).dump());
}

void Foresight::look(const graph::Model& model, const runtime::Device& device, const std::string& plan,
                     const eval::Evaluator::Look& values) const {
  context_.evaluator.look(model, cores(), device, order_, values, work_on(plan), sharer_);
}

void Foresight::tell_others(const std::vector<double>& values, const std::string& plan) const {
  do_parts(sharer_, {.name = work_on(plan),
                     .parts = values.size(),
                     .threads = 1,
                     .numbers = [](size_t) { return size_t{1}; },
                     .work = [&](size_t i) { return std::vector{values[i]}; },
                     .tell = [](size_t, std::span<const double>) { return true; },
                     .at_hand = true});
}

// Whether what was found for the trial's model is its value, or near enough to foresee by what changes it.
bool Foresight::agrees(double found) {
  shift_ = is_exact_ ? 0 : value_ - found;
  if (is_exact_) return alike(found, value_);
  const AccuracyCriterion& criterion = *context_.job.aim.criterion;
  const Measures baseline = measures_of(context_.evaluator.reference());
  const auto loss = [&](double value) { return loss_of(criterion, {{metric(), value}}, baseline); };
  const double tolerable = loss(value_) - excess_of(criterion, {{metric(), value_}}, baseline);
  return std::abs(loss(found) - loss(value_)) <= tolerable;
}

void Foresight::choose_samples(const std::vector<double>& values) {
  const std::vector<double>& exact = context_.evaluator.reference().at(metric()).per_sample;
  const size_t all = values.size();
  lost_.resize(all);
  for (size_t i = 0; i < all; i++) lost_[i] = std::abs(values[i] - exact[i]);
  order_.resize(all);
  std::iota(order_.begin(), order_.end(), size_t{0});
  weights_.assign(all, 1 / static_cast<double>(all));
  base_ = shift_;
  best_ = eval::make_metric(metric())->best_possible();
  if (const double mean = mean_of(lost_); all > 2 * drawn && mean > 0 && std::isfinite(mean)) draw(values);
  sort();
}

void Foresight::sort() {
  std::ranges::stable_sort(order_, std::ranges::greater(), [&](size_t i) { return weights_[i] * lost_[i]; });
}

// Some of the samples, in proportion to what is lost on them and a mean loss besides.
void Foresight::draw(const std::vector<double>& values) {
  const auto all = static_cast<double>(lost_.size());
  const double mean = mean_of(lost_);
  std::vector<size_t> sorted = std::exchange(order_, {});
  std::ranges::stable_sort(sorted, {}, [&](size_t i) { return lost_[i]; });
  const double step = 2 * mean * all / drawn;
  double sum = 0, next = step / 2;
  base_ = value_;
  for (const size_t i : sorted) {
    size_t times = 0;
    for (sum += lost_[i] + mean; next < sum && times < drawn; next += step) times++;
    if (times == 0) continue;
    order_.push_back(i);
    weights_[i] = static_cast<double>(times) * step / (lost_[i] + mean) / all;
    base_ -= weights_[i] * values[i];
  }
  is_exact_ = false;
}

bool Foresight::is_enough(double value, double factor) const {
  const AccuracyCriterion& criterion = *context_.job.aim.criterion;
  const Measures measures{{metric(), value}}, baseline = measures_of(context_.evaluator.reference());
  const double loss = loss_of(criterion, measures, baseline), excess = excess_of(criterion, measures, baseline);
  return excess <= 0 || factor * loss <= loss - excess;
}

bool Foresight::meets(const search::Point& point, double factor) {
  if (!rounded_) return false;
  const std::string& plan = hash_at(point);
  if (plan.empty()) return false;
  if (!answered(plan, factor)) known_.insert_or_assign(plan, look_at(point, factor, plan));
  return answered(plan, factor).value_or(false);
}

// Codes are those of rounded_: whether operators are given up before or after rounding is all the same here.
quant::Config Foresight::config_at(const search::Point& point) const {
  quant::Config config = quant::parse_config(words_of(context_.space, point));
  config.after_rounding = {};
  return config;
}

const std::string& Foresight::hash_at(const search::Point& point) {
  const auto [known, is_new] = hashes_.try_emplace(hash_of(Json(point.values()).dump()));
  if (!is_new) return known->second;
  try {
    known->second = quant::hash_of(possible_plan(context_, config_at(point), point));
  } catch (const Error&) {  // which a trial would tell
  }
  return known->second;
}

std::optional<bool> Foresight::answered(const std::string& plan, double factor) const {
  const auto found = known_.find(plan);
  if (found == known_.end()) return std::nullopt;
  const bool enough = is_enough(found->second.value, factor);
  if (found->second.at_best && enough) return std::nullopt;
  return enough;
}

// A model that does not run or cannot be compared has no worth.
Foresight::Known Foresight::look_at(const search::Point& point, double factor, const std::string& plan) {
  try {
    const quant::Config config = config_at(point);
    return value_of(model_of(config, possible_plan(context_, config, point)), factor, plan);
  } catch (const Error&) {
    return {std::numeric_limits<double>::quiet_NaN()};
  }
}

bool Foresight::is_long(const search::Point& point) const {
  const quant::Config config = quant::while_rounding(quant::parse_config(words_of(context_.space, point)));
  return takes_long(config, plan_of(context_, config));
}

void Foresight::prepare(const search::Point& point, const std::function<void()>& check) const {
  rounded_plan(context_, quant::while_rounding(quant::parse_config(words_of(context_.space, point))), check);
}

graph::Model Foresight::model_of(const quant::Config& config, const quant::Plan& plan) const {
  return context_.variants.built_alike(config, plan, *rounded_);
}

// On all cores, as no trial runs meanwhile.
Foresight::Known Foresight::value_of(const graph::Model& model, double factor, const std::string& plan) {
  const auto loan = context_.devices.take();
  const runtime::Device device = stand_in_for(loan.device());
  if (order_.empty()) {
    samples_run_ += context_.evaluator.samples();
    const eval::Scores scores = context_.evaluator.score(model, cores(), device);
    const auto found = scores.find(metric());
    if (found == scores.end()) throw Error("metric " + metric() + " has no value");
    return {found->second.value + shift_};
  }
  const std::vector<double>& exact = context_.evaluator.reference().at(metric()).per_sample;
  if (!sharer_) sort();  // where samples are shared, they stay in one order for all to know which are meant
  std::vector<double> values(context_.evaluator.samples());
  double at_best = base_;
  for (const size_t i : order_) at_best += weights_[i] * best_.value_or(0);
  // Sums in another order differ by no more.
  const bool lower_is_better = context_.job.aim.goals.objectives.front().direction == Direction::minimize;
  const double slack = equal_up_to * std::max(std::abs(at_best), std::abs(value_)) * (lower_is_better ? -1 : 1);
  size_t seen = 0;
  look(model, device, plan, [&](size_t i, double value) {
    seen++;
    values[i] = value;
    lost_[i] = std::max(lost_[i], std::abs(value - exact[i]));
    at_best += weights_[i] * (value - best_.value_or(0));
    return !best_ || is_enough(at_best + slack, factor);
  });
  samples_run_ += seen;
  if (seen < order_.size()) return {at_best, true};
  if (is_exact_) return {mean_of(values)};
  double value = base_;
  for (const size_t i : order_) value += weights_[i] * values[i];
  return {value};
}

}  // namespace quasar::tune
