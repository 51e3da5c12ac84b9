#include "quasar/tune/trial.hpp"

#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/graph/load.hpp"
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

search::Outcome try_point(const Laboratory& lab, search::Job& trial) {
  const auto check = deadline(lab.job, trial.stop());
  const quant::Config config = quant::parse_config(config_words(lab.space, trial.point()));
  const quant::Plan plan = plan_of(lab, config);
  require_quantized(plan);
  if (const auto other = trial.claim(quant::hash_of(plan))) return {.values = {}, .duplicate_of = other};
  Stopwatch watch;
  const auto [candidate, rounding] = build(lab, config, plan, check);
  const double build_s = watch.seconds();
  if (lab.job.keep_models == "all")
    graph::save(candidate, lab.job.output_dir / ("trial_" + std::to_string(trial.number()) + ".onnx"));
  const size_t threads = std::max<size_t>(1, cores() / static_cast<size_t>(lab.job.n_jobs));
  const eval::Scores scores = lab.evaluator.score(candidate, threads, check);
  lab.book.keep(trial.number(), scores);
  const std::string& objective = lab.job.metrics.front();
  const double value = scores.at(objective).value;
  const bool candidate_found = is_good_enough(lab.job, value, lab.evaluator.reference().at(objective).value);
  if (candidate_found && lab.job.keep_models == "candidates") {
    graph::save(candidate, lab.job.output_dir / ("trial_" + std::to_string(trial.number()) + ".onnx"));
  }
  search::Outcome outcome{.values = {value},
                          .candidate = candidate_found,
                          .user_attributes = {{"metrics", values_of(scores)},
                                              {"config", quant::to_json(config)},
                                              {"quantized_nodes", plan.nodes.size()},
                                              {"build_s", build_s},
                                              {"score_s", watch.seconds() - build_s}}};
  if (!rounding.layers.empty()) outcome.user_attributes["rounding"] = to_json(rounding);
  return outcome;
}

}  // namespace quasar::tune
