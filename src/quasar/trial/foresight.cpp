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

Json Foresight::to_json(const Known& known) {
  return {known.value, known.at_best};
}

// nullopt: whoever wrote it was no process of Quasar's.
std::optional<Foresight::Known> Foresight::known_from(const Json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() || !json[1].is_boolean()) return std::nullopt;
  return Known{json[0].get<double>(), json[1].get<bool>()};
}

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
  if (!scores_as(trial)) {
    rounded_.reset();
    known_.clear();
    return false;
  }
  // What other codes are worth, or what was estimated from another trial, is known no longer.
  std::string hash = quant::hash_of(*rounded_);
  if (std::exchange(hash_, hash) != hash || !exact_before || !is_exact_) known_.clear();
  begun_with_ = trial.number;
  return true;
}

// Whether the trial's model, made of these codes, has its value. Chooses the samples by what it has on each.
bool Foresight::scores_as(const search::Trial& trial) {
  const quant::Config config = quant::parse_config(words_of(context_.space, trial.point));
  const graph::Model model = model_of(config, plan_of(context_, config));
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
  std::vector<size_t> every(all);
  std::iota(every.begin(), every.end(), size_t{0});
  std::vector<double> values(all);
  context_.evaluator.look(model, cores(), device, every, [&](size_t i, double value) {
    values[i] = value;
    return true;
  });
  if (!agrees(mean_of(values))) return false;
  choose_samples(values);
  return true;
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
  const Question asked = question(point, factor);
  if (!answered(asked)) look_at(asked);
  return answered(asked).value_or(false);
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

Foresight::Question Foresight::question(const search::Point& point, double factor) {
  const std::string& plan = hash_at(point);
  const std::string trial = is_exact_ ? "" : std::to_string(begun_with_);
  return {point, factor, plan, hash_of(hash_ + ' ' + trial + ' ' + plan + ' ' + Json(factor).dump())};
}

std::optional<bool> Foresight::answered(const Question& question) const {
  if (question.plan.empty()) return false;
  const auto found = known_.find(question.plan);
  if (found == known_.end()) return std::nullopt;
  const bool enough = is_enough(found->second.value, question.factor);
  if (found->second.at_best && enough) return std::nullopt;
  return enough;
}

// -> whether the model has told its worth; one that does not run or cannot be compared has none.
bool Foresight::look_at(const Question& question) {
  try {
    const quant::Config config = config_at(question.point);
    const quant::Plan plan = possible_plan(context_, config, question.point);
    known_.insert_or_assign(question.plan, value_of(model_of(config, plan), question.factor));
    return true;
  } catch (const Error&) {
    known_.insert_or_assign(question.plan, Known{std::numeric_limits<double>::quiet_NaN()});
    return false;
  }
}

SharedForesight shared_foresight(const search::Study& study) {
  if (!study.is_shared()) return {};
  return {study.sharing()->answers(), study.id()};
}

void Foresight::go(const Way& way) {
  while (shared_.answers != nullptr) {
    const std::vector<Question> open = open_on(way, "");
    if (open.empty()) return;
    if (!find_answers(open) && !find_behind_another(way, open)) look_and_tell(open.front());
  }
  way([this](const search::Point& point, double factor) { return meets(point, factor); });
}

// Questions on the way that are not answered, if all but this one get a no.
std::vector<Foresight::Question> Foresight::open_on(const Way& way, const std::string& yes) {
  struct FarEnough {};
  constexpr size_t ahead = 8;
  std::vector<Question> open;
  try {
    way([&](const search::Point& point, double factor) {
      if (!rounded_) return false;
      Question asked = question(point, factor);
      if (const auto answer = answered(asked)) return *answer;
      if (asked.text == yes) return true;
      if (std::ranges::find(open, asked.text, &Question::text) == open.end()) open.push_back(std::move(asked));
      if (open.size() == ahead) throw FarEnough();
      return false;
    });
  } catch (const FarEnough&) {
  }
  return open;
}

// -> whether anything is known now that was not.
bool Foresight::find_answers(std::span<const Question> open) {
  std::vector<std::string> texts;
  for (const Question& question : open) texts.push_back(question.text);
  search::Answers::Known said;
  try {
    said = shared_.answers->ask(shared_.study, texts);
  } catch (const search::ConnectionLost&) {
    throw;
  } catch (const Error&) {  // a role that may not make the table
    shared_.answers = nullptr;
    return true;
  }
  bool news = false;
  for (const Question& question : open) {
    const auto answer = said.answers.find(question.text);
    if (answer == said.answers.end()) continue;
    const auto known = known_from(answer->second);
    if (!known) continue;
    known_.insert_or_assign(question.plan, *known);
    news = news || answered(question);
  }
  const auto mine = std::ranges::find(open, said.mine.value_or(""), &Question::text);
  if (mine == open.end()) return news;
  if (!answered(*mine)) look_and_tell(*mine);
  return true;
}

// All of these are taken: what comes behind one of them, if that gets a yes. -> whether anything is known now that was not
bool Foresight::find_behind_another(const Way& way, std::span<const Question> open) {
  constexpr size_t most = 3;
  for (const Question& taken : open.first(std::min(most, open.size()))) {
    std::vector<Question> behind = open_on(way, taken.text);
    std::erase_if(behind, [&](const Question& one) { return std::ranges::find(open, one.text, &Question::text) != open.end(); });
    if (!behind.empty() && find_answers(behind)) return true;
  }
  return false;
}

void Foresight::look_and_tell(const Question& question) {
  if (look_at(question) && shared_.answers != nullptr)
    shared_.answers->answer(shared_.study, question.text, to_json(known_.at(question.plan)));
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
Foresight::Known Foresight::value_of(const graph::Model& model, double factor) {
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
  std::ranges::stable_sort(order_, std::ranges::greater(), [&](size_t i) { return weights_[i] * lost_[i]; });
  std::vector<double> values(context_.evaluator.samples());
  double at_best = base_;
  for (const size_t i : order_) at_best += weights_[i] * best_.value_or(0);
  // Sums in another order differ by no more.
  const bool lower_is_better = context_.job.aim.goals.objectives.front().direction == Direction::minimize;
  const double slack = equal_up_to * std::max(std::abs(at_best), std::abs(value_)) * (lower_is_better ? -1 : 1);
  size_t seen = 0;
  context_.evaluator.look(model, cores(), device, order_, [&](size_t i, double value) {
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
