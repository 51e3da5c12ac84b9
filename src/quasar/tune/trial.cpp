#include "quasar/tune/trial.hpp"

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

Json values_of(const eval::Scores& scores) {
  Json values = Json::object();
  for (const auto& [name, score] : scores) values[name] = score.value;
  return values;
}

}  // namespace

search::Direction direction_of(const std::string& metric) {
  const bool maximize = eval::metrics::table().make(metric)->direction() == eval::Direction::maximize;
  return maximize ? search::Direction::maximize : search::Direction::minimize;
}

bool is_good_enough(const Job& job, double value, double reference) {
  if (job.criterion) return meets(*job.criterion, value, goal_of(*job.criterion, reference));
  if (job.tolerance.is_null()) return false;
  const double loss = direction_of(job.metrics.front()) == search::Direction::maximize ? reference - value : value - reference;
  return loss <= job.tolerance.get<double>();
}

quant::Plan plan_of(const Laboratory& lab, const quant::Config& config) {
  return lab.variants.plan(config, lab.target);
}

Built build(const Laboratory& lab, const quant::Config& config, quant::Plan plan, const std::function<void()>& check) {
  return lab.variants.build(config, plan, check);
}

void require_quantized(const quant::Plan& plan) {
  if (!plan.nodes.empty()) return;
  std::string why;
  if (!plan.skipped.empty()) why = ", for example " + plan.skipped.begin()->first + ": " + plan.skipped.begin()->second;
  throw Error("nothing in this model is quantized under this configuration" + why);
}

quant::Config config_of(const Laboratory& lab, const search::Trial& trial) {
  const auto recorded = trial.user_attributes.find("config");
  return quant::parse_config(recorded == trial.user_attributes.end() ? config_words(lab.space, trial.point) : *recorded);
}

std::unique_ptr<search::Racer> racer_of(const Job& job, const search::Study& study, const eval::Evaluator& evaluator) {
  const std::string name = job.pruner.at("name");
  const std::string& objective = job.metrics.front();
  const auto best = eval::metrics::table().make(objective)->best_possible();
  if (name == "none" || !best || job.criterion || study.directions().size() > 1) return nullptr;
  search::RacerOptions options{.direction = study.directions().front(), .best_possible = *best};
  if (!job.tolerance.is_null()) {
    const double sign = options.direction == search::Direction::minimize ? 1 : -1;
    options.good_enough = evaluator.reference().at(objective).value + sign * job.tolerance.get<double>();
  }
  return std::make_unique<search::Racer>(search::pruners::table().make(name, job.pruner.at("options")), options, study.trials());
}

namespace {

size_t threads_of(const Job& job) {
  return std::max<size_t>(1, cores() / static_cast<size_t>(job.n_jobs));
}

void keep(const Laboratory& lab, int64_t trial, const eval::Scores& scores, const graph::Model& model) {
  const std::string& objective = lab.job.metrics.front();
  const double value = scores.at(objective).value;
  lab.book.keep(trial, scores, direction_of(objective) == search::Direction::minimize ? value : -value, model);
}

void save(const Laboratory& lab, const search::Job& trial, const graph::Model& model) {
  graph::save(model, lab.job.output_dir / ("trial_" + std::to_string(trial.number()) + ".onnx"));
}

// How a trial that was given up stood.
struct Fallen {
  double value;
  size_t samples;
};

// nullopt and the standing: the pruner gave the trial up.
std::optional<eval::Scores> score(const Laboratory& lab, search::Job& trial, const graph::Model& candidate, Fallen& fallen) {
  const size_t threads = threads_of(lab.job);
  if (lab.racer == nullptr) return lab.evaluator.score(candidate, threads);
  return lab.evaluator.race(candidate, threads, [&](std::span<const double> values) {
    fallen = {search::mean_of(values), values.size()};
    return !lab.racer->gives_up(trial, values, lab.evaluator.samples());
  });
}

search::Outcome run_trial(const Laboratory& lab, search::Job& trial) {
  const quant::Config config = quant::parse_config(config_words(lab.space, trial.point()));
  const quant::Plan plan = plan_of(lab, config);
  require_quantized(plan);
  if (const auto other = trial.claim(quant::hash_of(plan))) return {.values = {}, .duplicate_of = other};
  Stopwatch watch;
  const auto [candidate, rounding] = build(lab, config, plan, throw_if_cancelled);
  const double build_s = watch.seconds();
  if (lab.job.keep_models == "all") save(lab, trial, candidate);
  Fallen fallen{};
  const auto scores = score(lab, trial, candidate, fallen);
  search::Outcome outcome{.user_attributes = {{"config", quant::to_json(config)},
                                              {"quantized_nodes", plan.nodes.size()},
                                              {"build_s", build_s},
                                              {"score_s", watch.seconds() - build_s}}};
  if (!rounding.layers.empty()) outcome.user_attributes["rounding"] = to_json(rounding);
  if (!scores) {
    outcome.pruned = true;
    outcome.values = {fallen.value};
    outcome.user_attributes[search::attribute::pruned] =
        "after " + std::to_string(fallen.samples) + " of " + std::to_string(lab.evaluator.samples()) + " samples";
    return outcome;
  }
  keep(lab, trial.number(), *scores, candidate);
  const std::string& objective = lab.job.metrics.front();
  const double value = scores->at(objective).value;
  outcome.values = {value};
  outcome.user_attributes["metrics"] = values_of(*scores);
  outcome.candidate = is_good_enough(lab.job, value, lab.evaluator.reference().at(objective).value);
  if (outcome.candidate && lab.job.keep_models == "candidates") save(lab, trial, candidate);
  return outcome;
}

}  // namespace

void recall_best(const Laboratory& lab, const search::Trial& trial) {
  const quant::Config config = config_of(lab, trial);
  const graph::Model model = build(lab, config, plan_of(lab, config), throw_if_cancelled).model;
  const auto scores = lab.evaluator.race(model, cores(), [&](std::span<const double> values) {
    if (lab.racer != nullptr && values.size() == lab.evaluator.samples()) lab.racer->crown(values);
    return true;
  });
  keep(lab, trial.number, *scores, model);
}

search::Outcome try_point(const Laboratory& lab, search::Job& trial) {
  const double limit = lab.job.trial_time_limit;
  const Deadline deadline(trial.stop(), limit > 0 ? std::optional(Deadline::after(limit)) : std::nullopt);
  const CancelScope scope(deadline.token());
  try {
    return run_trial(lab, trial);
  } catch (const Cancelled&) {
    if (!deadline.passed()) throw;
    throw Error("the trial took longer than trial_time_limit (" + Json(limit).dump() + " s)");
  }
}

}  // namespace quasar::tune
