#include "quasar/tune/trial.hpp"

#include <algorithm>

#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

// Ends a trial between two samples: when the search is stopped, or the trial is past its limit.
std::function<void()> deadline(const Job& job, const std::stop_token& stop) {
  return [limit = job.trial_time_limit, stop, watch = Stopwatch()] {
    if (stop.stop_requested()) throw Cancelled("the search was stopped");
    if (limit > 0 && watch.seconds() > limit)
      throw Error("the trial took longer than trial_time_limit (" + Json(limit).dump() + " s)");
  };
}

// Of the file that it would make; beyond protobuf's 2 GB its weights, which are nearly all of it.
size_t bytes_of(const graph::Model& model) {
  size_t weights = 0;
  for (const auto& [name, tensor] : model.initializers) weights += tensor.bytes().size();
  return weights < size_t{2000} << 20 ? graph::to_bytes(model).size() : weights;
}

}  // namespace

Measures measured(const Laboratory& lab, const graph::Model& model, const eval::Scores& scores, Quiet::Work& work) {
  const Goals& goals = lab.job.goals;
  Measures out;
  for (const auto& [name, score] : scores) out[name] = score.value;
  if (goals.needs("bytes")) out["bytes"] = static_cast<double>(bytes_of(model));
  if (goals.needs("peak_memory")) out["peak_memory"] = static_cast<double>(runtime::peak_memory(model, lab.samples));
  if (goals.needs("latency")) out["latency"] = work.alone([&] { return runtime::latency(model, lab.samples).median_ms; });
  return out;
}

bool is_good_enough(const Job& job, double value, double reference) {
  if (job.criterion) return meets(*job.criterion, value, goal_of(*job.criterion, reference));
  if (job.tolerance.is_null()) return false;
  const bool maximize = job.goals.objectives.front().direction == search::Direction::maximize;
  const double loss = maximize ? reference - value : value - reference;
  return loss <= job.tolerance.get<double>();
}

quant::Plan plan_of(const Laboratory& lab, const quant::Config& config) {
  quant::Plan plan = quant::resolve(lab.model, lab.calibration.seen(config), config, lab.target);
  lab.rounder.settle(plan, config.calib_data_size);
  return plan;
}

Built build(const Laboratory& lab, quant::Plan plan, const std::function<void()>& check) {
  RoundingReport rounding = lab.rounder.improve(plan, check);
  return {quant::apply(lab.model, plan), std::move(rounding)};
}

void require_quantized(const quant::Plan& plan) {
  if (!plan.nodes.empty()) return;
  std::string why;
  if (!plan.skipped.empty()) why = ", for example " + plan.skipped.begin()->first + ": " + plan.skipped.begin()->second;
  throw Error("nothing in this model is quantized under this configuration" + why);
}

search::Outcome try_point(const Laboratory& lab, search::Job& trial) {
  Quiet::Work work(lab.quiet);
  const auto check = deadline(lab.job, trial.stop());
  const quant::Config config = quant::parse_config(config_words(lab.space, trial.point()));
  const quant::Plan plan = plan_of(lab, config);
  require_quantized(plan);
  if (const auto other = trial.claim(quant::hash_of(plan))) return {.values = {}, .duplicate_of = other};
  Stopwatch watch;
  const auto [candidate, rounding] = build(lab, plan, check);
  const double build_s = watch.seconds();
  if (lab.job.keep_models == "all")
    graph::save(candidate, lab.job.output_dir / ("trial_" + std::to_string(trial.number()) + ".onnx"));
  const size_t threads = std::max<size_t>(1, cores() / static_cast<size_t>(lab.job.n_jobs));
  const eval::Scores scores = lab.evaluator.score(candidate, threads, check);
  lab.book.keep(trial.number(), scores);
  const Goals& goals = lab.job.goals;
  const Measures measures = measured(lab, candidate, scores, work);
  const std::vector<double> values = values_of(goals, measures);
  const std::vector<double> excess = excesses(goals, measures, lab.evaluator.reference());
  const bool feasible = std::ranges::all_of(excess, [](double e) { return e <= 0; });
  const auto& reference = lab.evaluator.reference();
  const auto was = reference.find(goals.objectives.front().metric);
  const bool candidate_found = feasible && was != reference.end() && is_good_enough(lab.job, values.front(), was->second.value);
  if (candidate_found && lab.job.keep_models == "candidates") {
    graph::save(candidate, lab.job.output_dir / ("trial_" + std::to_string(trial.number()) + ".onnx"));
  }
  search::Outcome outcome{.values = values,
                          .constraints = excess,
                          .candidate = candidate_found,
                          .user_attributes = {{"metrics", measures},
                                              {"config", quant::to_json(config)},
                                              {"quantized_nodes", plan.nodes.size()},
                                              {"build_s", build_s},
                                              {"score_s", watch.seconds() - build_s}}};
  if (!rounding.layers.empty()) outcome.user_attributes["rounding"] = to_json(rounding);
  return outcome;
}

}  // namespace quasar::tune
