#include "quasar/tune/tuner.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/cancellation.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

search::StopConditions policy_of(const Job& job) {
  Json words = job.stop.is_null() ? Json::object() : job.stop;
  words["n_trials"] = most_trials(job);
  return search::stop_conditions(words);  // its time_limit is timeout's already
}

std::vector<std::string> names_of(const TuningSpace& space) {
  std::vector<std::string> names;
  for (const auto& node : space.nodes) names.push_back(node.name);
  return names;
}

// The nodes that a trial leaves in a float type, each with why: [{node, type, why}]. `step`: in which the trial came.
Json left_by(const search::Trial& trial, const LeftInFloat& left, const Workbench& bench, const TuningSpace& space,
             const std::string& step) {
  const auto by_recipes = left.by_recipes(bench.space, trial.point);
  Json out = Json::array();
  for (const auto& node : left.nodes(bench.space, trial.point)) {
    const auto tuned = std::ranges::find(space.nodes, node, &TunedNode::name);
    const bool only = tuned != space.nodes.end() && tuned->all_options().empty();
    if (const auto recipe = by_recipes.find(node); recipe != by_recipes.end()) {
      out.push_back({{"node", node}, {"type", in_float}, {"why", recipe->second + " is off"}});
    } else {
      out.push_back({{"node", node},
                     {"type", precision_at(trial.point, node)},
                     {"why", only ? "op_type_dict and op_name_dict leave it no integer type" : step}});
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> TuneConfig::in_float() const {
  std::vector<std::string> names;
  for (const auto& [name, choice] : nodes) {
    if (choice == tune::in_float) names.push_back(name);
  }
  return names;
}

Tuner::Tuner(const Workbench& bench, const TuningSpace& space, const std::string& stage)
    : bench_(bench),
      space_(space),
      left_in_float_(bench.lab->model, names_of(space)),
      sequence_({.seed = bench.job.seed,
                 .n_jobs = static_cast<size_t>(bench.job.n_jobs),
                 .stage = stage,
                 .listener = bench.listener,
                 .stop = bench.stop,
                 .begin = bench.begin},
                bench.study, bench.space, policy_of(bench.job), bench.objective),
      baseline_(measures_of(bench.lab->evaluator.reference())),
      stage_(stage) {}

search::Point Tuner::point_of(const TuneConfig& config) const {
  std::vector<std::pair<std::string, Json>> changes;
  for (const auto& [name, choice] : config.nodes)
    changes.emplace_back(precision_of(name), choice == space_.base ? Json(quantized) : choice);
  for (const auto& [name, choice] : config.settings) changes.emplace_back(name, choice);
  return changed(bench_.space, bench_.space.nearest_to(Json::object()), changes);
}

search::Trial Tuner::evaluate(const TuneConfig& config) {
  return evaluate(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::evaluate(std::span<const TuneConfig> configs) {
  auto trials = explore(configs);
  if (met_ && bench_.job.tuning.timeout == 0) throw Over{};
  return trials;
}

search::Trial Tuner::explore(const TuneConfig& config) {
  return explore(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::explore(std::span<const TuneConfig> configs) {
  std::vector<search::Point> points;
  for (const auto& config : configs) points.push_back(point_of(config));
  const auto trials = sequence_.evaluate(points);
  for (const auto& trial : trials) note(trial);
  return trials;
}

void Tuner::note(const search::Trial& trial) {
  if (!best_ || better(trial, *best_)) best_ = trial;
  if (passed_.insert(trial.number).second) search::count(used_, trial);
  if (trial.is_candidate()) {
    const double gives = left_in_float_.given_up(bench_.space, trial.point);
    const double gave = met_ ? left_in_float_.given_up(bench_.space, met_->point) : HUGE_VAL;
    if (!met_ || gives < gave || (gives == gave && better(trial, *met_))) met_ = trial;
  }
  const double lost = loss(trial);
  steps_.push_back({{"step", step_},
                    {"trial", trial.number},
                    {"value", trial.values.empty() ? Json() : Json(trial.values.front())},
                    {"loss", std::isfinite(lost) ? Json(lost) : Json()},
                    {"float", left_in_float_.nodes(bench_.space, trial.point).size()}});
}

double Tuner::loss(const search::Trial& trial) const {
  return loss_of(*bench_.job.criterion, measures_of(bench_.job.goals, trial), baseline_);
}

size_t Tuner::left() const {
  const auto limit = static_cast<size_t>(most_trials(bench_.job));
  const size_t used = used_.finished();  // not what the study has: a resumed strategy repeats its way through it
  return limit > used ? limit - used : 0;
}

void Tuner::tell(const std::string& step) {
  step_ = step;
}

ToggledModel Tuner::toggled(const TuneConfig& config) const {
  instrumented_++;
  return {graph_for(config), plan_for(config)};
}

quant::Plan Tuner::plan_for(const TuneConfig& config) const {
  const quant::Config parsed = config_of(config);
  quant::Plan plan = plan_of(*bench_.lab, parsed);
  bench_.lab->variants.improve(parsed, plan);
  return plan;
}

const graph::Model& Tuner::graph_for(const TuneConfig& config) const {
  return bench_.lab->variants.graph_of(config_of(config))->model;  // the variants keep it
}

quant::Config Tuner::config_of(const TuneConfig& config) const {
  return quant::parse_config(words_of(bench_.space, point_of(config)));
}

data::DatasetPtr Tuner::samples(size_t most) const {
  return data::first(bench_.samples, std::min(most, bench_.samples->size()));
}

Finding Tuner::run(const std::function<void(Tuner&)>& traverse) {
  Finding finding;
  try {
    traverse(*this);
    static_cast<search::RunResult&>(finding) =
        sequence_.finished(met_ ? "the accuracy criterion is met" : "the tuning space is exhausted");
  } catch (const Over&) {
    static_cast<search::RunResult&>(finding) = sequence_.finished("the accuracy criterion is met");
  } catch (const search::SequenceOver& over) {
    static_cast<search::RunResult&>(finding) = over.result;
  } catch (const Cancelled&) {
    static_cast<search::RunResult&>(finding) = cut_short(bench_, sequence_, policy_of(bench_.job));
  } catch (const ToggledModelFailed& failed) {
    static_cast<search::RunResult&>(finding) = sequence_.finished(told_failure(finding.warnings, failed));
  }
  if (met_) finding.winner = met_->number;
  finding.warnings.insert(finding.warnings.end(), space_.ignored.begin(), space_.ignored.end());
  finding.story = {{"strategy", stage_},        {"goal", to_json(*bench_.job.criterion)},
                   {"steps", steps_},           {"float", left_over()},
                   {"ignored", space_.ignored}, {"instrumented_models", instrumented_}};
  return finding;
}

// By the trial that the search ends with, whether it meets the goal or not.
Json Tuner::left_over() const {
  const search::Trial* const last = met_ ? &*met_ : bench_.study.best();
  if (last == nullptr) return Json::array();
  std::string step;
  for (const auto& one : steps_) {
    if (step.empty() && one["trial"] == last->number) step = one["step"];
  }
  return left_by(*last, left_in_float_, bench_, space_, "in the configuration of step '" + step + "'");
}

Json TuningStrategy::default_space(const Job& /*job*/) const {
  return Json::object();
}

void TuningStrategy::check(const Job& job, const Spaces& /*spaces*/) const {
  if (!job.criterion) throw Error("strategy " + name() + " needs accuracy_criterion: the goal to reach");
  if (!job.spaces.front().empty())
    throw Error("strategy " + name() +
                " makes its own space from the target's capability: leave search_space out, and narrow it with op_type_dict and "
                "op_name_dict");
  policy_of(job);
}

Json TuningStrategy::space_of(const Job& job, const Json& /*search_space*/, const graph::Model& model,
                              const quant::Target& target) const {
  return search_space_of(tuning_space(job.tuning, model, target), job.tuning, falls_back());
}

std::vector<Json> TuningStrategy::also_needs(const Job& job, const graph::Model& model, const quant::Target& target) const {
  std::vector<Json> configurations;
  if (job.tuning.approach == Approach::weight_only) return configurations;  // nothing is observed
  for (const auto& node : tuning_space(job.tuning, model, target).nodes) {
    for (const auto& option : node.all_options()) {
      if (std::find(configurations.begin(), configurations.end(), option) == configurations.end())
        configurations.push_back(option);
    }
  }
  return configurations;
}

Finding TuningStrategy::run(const Workbench& bench) const {
  const TuningSpace space = tuning_space(bench.job.tuning, bench.lab->model, bench.lab->target);
  Tuner tuner(bench, space, name());
  return tuner.run([this](Tuner& t) { traverse(t); });
}

void NextStrategy::traverse(Tuner& tuner) const {
  std::vector<search::Trial> history;
  while (const auto config = next(tuner, history)) history.push_back(tuner.evaluate(*config));
}

Finding sampled(const Workbench& bench, const std::string& strategy, const std::string& sampler) {
  Job job = bench.job;
  if (job.tuning.timeout == 0) {
    if (job.stop.is_null()) job.stop = Json::object();
    job.stop["find_n_candidates"] = 1;
  }
  const auto made = search::samplers::table().make(sampler);
  const search::RunOptions options{.seed = job.seed,
                                   .n_jobs = static_cast<size_t>(job.n_jobs),
                                   .first = {bench.space.nearest_to(Json::object())},
                                   .stage = strategy,
                                   .listener = bench.listener,
                                   .stop = bench.stop,
                                   .begin = bench.begin};
  Finding finding{search::run(options, bench.study, bench.space, *made, policy_of(job), bench.objective)};
  for (const auto& trial : bench.study.trials()) {
    if (!trial.is_candidate() || trial.values.empty()) continue;
    const bool first = !finding.winner;
    const auto direction = bench.study.directions().front();
    if (first || search::better(trial.values.front(), bench.study.at(*finding.winner).values.front(), direction))
      finding.winner = trial.number;
  }
  const TuningSpace space = tuning_space(job.tuning, bench.lab->model, bench.lab->target);
  const LeftInFloat left(bench.lab->model, names_of(space));
  const search::Trial* const last = finding.winner ? &bench.study.at(*finding.winner) : bench.study.best();
  finding.warnings = space.ignored;
  finding.story = {{"strategy", strategy},
                   {"sampler", sampler},
                   {"goal", to_json(*job.criterion)},
                   {"float", last == nullptr ? Json::array() : left_by(*last, left, bench, space, "the sampler's choice")},
                   {"ignored", space.ignored}};
  return finding;
}

std::string told_failure(std::vector<std::string>& warnings, const ToggledModelFailed& failed) {
  std::string reason = "the errors of single operators cannot be measured";
  warnings.push_back(reason + ", so the search ends with the best trial so far: " + failed.what());
  return reason;
}

search::RunResult cut_short(const Workbench& bench, const search::Sequence& sequence, const search::StopConditions& conditions) {
  const auto seconds = time_limit_of(conditions);
  if (!bench.stop.stop_requested() && seconds) return sequence.finished("time_limit of " + Json(*seconds).dump() + " s reached");
  search::RunResult result = sequence.finished("interrupted");
  result.end = search::RunResult::End::interrupted;
  return result;
}

}  // namespace quasar::tune
