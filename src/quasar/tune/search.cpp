#include "quasar/tune/search.hpp"

#include <algorithm>
#include <chrono>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/node_names.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/tune/flips.hpp"
#include "quasar/tune/portrait.hpp"
#include "quasar/tune/quantize.hpp"
#include "quasar/tune/strategy.hpp"
#include "quasar/tune/trial.hpp"
#include "quasar/tune/warm_start.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

data::Splits open_data(const Job& job, const graph::Model& model) {
  if (!job.split.is_null()) return data::split(data::open(job.data, model.inputs, job.base), job.split);
  data::Splits splits;
  splits.calibration = data::open(job.calibration, model.inputs, job.base);
  splits.evaluation = data::open(job.evaluation, model.inputs, job.base);
  if (!job.holdout.is_null()) splits.holdout = data::open(job.holdout, model.inputs, job.base);
  return splits;
}

// Everything that a job needs before its first trial.
struct Setting {
  Spaces spaces;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<quant::Target> target;
  graph::Model original, model;  // as it came, and after clean-up
  data::Splits samples;
  std::vector<search::Trial> earlier;  // of the study that warm_start names
};

// Loads and checks whatever can be wrong, without writing anything.
Setting prepare(const Job& job) {
  Setting setting;
  setting.spaces = read_spaces(job);
  setting.strategy = strategies::table().make(job.strategy);
  setting.strategy->check(job, setting.spaces);
  setting.earlier = earlier_trials(job);
  setting.target = quant::targets::table().make(job.target);
  setting.original = graph::load(job.model);
  setting.model = runtime::prepare(setting.original);
  setting.spaces.extend([&](size_t i) { return setting.strategy->space_of(job, job.spaces[i], setting.model, *setting.target); });
  const quant::NodeNames names(setting.original, setting.model);
  for (const auto& [said, config] : setting.spaces.names) names.resolved(config);
  for (const auto& words : setting.strategy->also_needs(job, setting.model, *setting.target))
    setting.spaces.needs.add(quant::parse_config(words));
  setting.samples = open_data(job, setting.model);
  return setting;
}

std::string storage_url(const Job& job) {
  if (job.storage.find("://") != std::string::npos || job.storage == "memory") return job.storage;
  return (job.output_dir / job.storage).string();
}

// What a study's values mean: the metric's name, or all goals where there are more.
Json metric_of(const Goals& goals) {
  if (goals.objectives.size() == 1 && goals.constraints.empty()) return goals.objectives.front().metric;
  return to_json(goals);
}

// A resumed study must be about the same model and goal, otherwise its values cannot be compared.
void bind(search::Study& study, const Job& job) {
  const Json goal{{"model", hash_of(read_file(job.model))}, {"metric", metric_of(job.goals)}, {"target", job.target}};
  for (const auto& [key, value] : goal.items()) {
    const Json& known = study.user_attributes();
    if (!known.contains(key)) {
      study.set_attribute(key, value);
    } else if (known.at(key) != value) {
      throw Error("the study in " + job.output_dir.string() + " was made with another " + key + "; use another output_dir");
    }
  }
  study.set_attribute("job", job.words);
}

// Of an interrupted search, within half a second.
runtime::Latency latency_of(const graph::Model& model, const data::Dataset& samples, const std::stop_token& stop) {
  try {
    const CancelScope scope(stop);
    return runtime::latency(model, samples);
  } catch (const Cancelled&) {
    return runtime::latency(model, samples, 50, 0.5);
  }
}

// null: this process did not score the trial, or its outputs are no classes.
Json flips(const Laboratory& lab, int64_t trial, const data::Dataset& samples) {
  const auto scores = lab.book.by_sample(trial);
  const eval::Scores& reference = lab.evaluator.reference();
  const std::string& metric = lab.job.metrics.front();
  if (!scores || !scores->contains(metric) || !reference.contains(metric)) return nullptr;
  return flips_of(samples, reference.at(metric), scores->at(metric));
}

Winner measure_winner(const Laboratory& lab, const search::Trial& trial, const data::Splits& samples,
                      const std::stop_token& stop) {
  Winner winner;
  winner.trial = trial;
  winner.config = config_of(lab, trial);
  const quant::Plan plan = plan_of(lab, winner.config);
  const auto built = lab.book.model(trial.number);
  const graph::Model model = built ? *built : build(lab, winner.config, plan).model;
  const fs::path path = lab.job.output_dir / "best.onnx";
  graph::save(model, path, external(winner.config));
  winner.bytes = fs::file_size(path);
  const auto known = lab.book.find(trial.number);
  winner.metrics = known ? *known : lab.evaluator.score(model, cores());
  winner.latency = latency_of(model, *samples.evaluation, stop);
  std::vector<std::string> nodes;
  for (const auto& [name, planned] : plan.nodes) nodes.push_back(name);
  const auto kernels = runtime::runs_quantized(model, nodes);
  for (const auto& [name, runs] : kernels) (runs ? winner.quantized_nodes : winner.float_nodes)++;
  winner.float_nodes += plan.skipped.size();
  const Json rounding = trial.user_attributes.value("rounding", Json());
  const auto graph = lab.variants.graph_of(winner.config);
  const Sitter sitter{graph->model, plan, lab.variants.seen(winner.config), kernels, rounding};
  winner.layers = layers_of(sitter);
  winner.ranges = ranges_of(sitter, winner.layers);
  winner.flips = flips(lab, trial.number, *samples.evaluation);
  Json params = Json::object();
  for (const auto& [name, value] : trial.point.values()) params[name] = value;
  write_file(lab.job.output_dir / "best_params.json", params.dump(2) + "\n");
  write_file(lab.job.output_dir / "best_config.yaml", to_yaml(quant::to_json(winner.config)));
  return winner;
}

// Left out when the search is stopped meanwhile.
void measure_holdout(Summary& summary, const Laboratory& lab, const data::Splits& samples, const std::stop_token& stop) {
  if (!samples.holdout || !summary.best) return;
  try {
    const CancelScope scope(stop);
    const eval::Evaluator evaluator(
        lab.model, samples.holdout,
        {.metrics = lab.job.metrics, .memory_limit = lab.job.memory_limit, .spill = lab.job.temp_dir});
    summary.best->holdout = evaluator.score(graph::load(lab.job.output_dir / "best.onnx"), cores());
    summary.baseline.holdout = evaluator.reference();
  } catch (const Cancelled&) {
  }
}

Status status_of(const Job& job, const Summary& summary, const search::RunResult& result) {
  if (result.end == search::RunResult::End::interrupted) return Status::interrupted;
  if (!summary.best) return Status::no_candidate;
  if (job.criterion && !summary.best->trial.is_candidate()) return Status::goal_missed;
  if (!job.tolerance.is_null() && !summary.best->trial.is_candidate()) return Status::no_candidate;
  if (summary.best->trial.violation() > 0) return Status::goal_missed;
  return Status::ok;
}

// A resumed study may have another tolerance.
void reconsider_candidates(search::Study& study, const Job& job, const eval::Evaluator& evaluator) {
  const std::string& objective = job.goals.objectives.front().metric;
  if (is_cost(objective) || !job.goals.constraints.empty()) return;
  const double reference = evaluator.reference().at(objective).value;
  study.reconsider([&](const search::Trial& trial) { return is_good_enough(job, trial.values.front(), reference); });
}

Json warm_start_facts(const Spaces& spaces, std::span<const search::Trial> earlier) {
  size_t inside = 0;
  for (const auto& trial : earlier) {
    const auto fits = [&](const search::Space& space) { return !fitting({&trial, 1}, space).empty(); };
    inside += std::ranges::any_of(spaces.each, fits) || std::ranges::any_of(spaces.calibration, fits) ? 1 : 0;
  }
  return {{"trials", earlier.size()}, {"inside", inside}, {"outside", earlier.size() - inside}};
}

// What the log should hold of the spaces: their sizes, what was taken out and why, a translation.
void tell_spaces(const Job& job, const Spaces& spaces, std::span<const search::Trial> earlier, const Log& log) {
  for (const Json& facts : spaces.facts) {
    if (facts.empty()) continue;
    tell(log, Level::info, "search space: " + facts.dump());
    for (const auto& [why, count] : facts["why"].items())
      tell(log, Level::warning, count.dump() + " combinations are left out: " + why);
  }
  if (job.translated) {
    for (const Json& space : job.spaces) tell(log, Level::info, "translated search space: " + space.dump());
  }
  if (job.warm_start.empty()) return;
  const Json facts = warm_start_facts(spaces, earlier);
  tell(log, Level::info,
       "warm start: " + facts["inside"].dump() + " trials of " + job.warm_start + " teach the sampler, " +
           facts["outside"].dump() + " lie outside the space");
}

}  // namespace

namespace {

// Everything but the limits: fills in the summary phase by phase.
void carry_out(Summary& summary, const Job& job, const Monitor& monitor, Deadline::Clock::time_point begin) {
  Stopwatch phase;
  const auto [spaces, strategy, target, original, model, samples, earlier] = prepare(job);
  tell_spaces(job, spaces, earlier, monitor.log);
  const RounderOptions rounding{.memory_limit = job.memory_limit,
                                .threads = std::max<size_t>(1, cores() / static_cast<size_t>(job.n_jobs)),
                                .log = monitor.log};
  Variants variants(original, model, samples.calibration, spaces.needs, {.rounding = rounding, .log = monitor.log});
  summary.prepare_s = phase.seconds();

  phase = {};
  const eval::Evaluator evaluator(
      model, samples.evaluation,
      {.metrics = job.metrics, .memory_limit = job.memory_limit, .spill = job.temp_dir, .seed = job.seed});
  if (job.criterion) {
    const std::string& metric = job.metrics.front();
    check_reachable(*job.criterion, metric, evaluator.reference().at(metric).value);
  }
  summary.baseline = {.metrics = evaluator.reference(),
                      .holdout = {},
                      .bytes = fs::file_size(job.model),
                      .latency = runtime::latency(model, *samples.evaluation)};
  if (monitor.baseline) monitor.baseline(summary.baseline);
  summary.float_s = phase.seconds();
  variants.observe();

  phase = {};
  fs::create_directories(job.output_dir);
  const auto storage = search::open_storage(storage_url(job));
  search::Study study(*storage, {.name = job.study_name, .directions = job.goals.directions(), .resume = job.load_if_exists});
  bind(study, job);
  reconsider_candidates(study, job, evaluator);
  ScoreBook book;
  Quiet quiet;
  const auto racer = strategy->races() ? racer_of(job, study, evaluator) : nullptr;
  const Laboratory lab{job, model, *target, spaces.all, variants, evaluator, book, *samples.evaluation, quiet, racer.get()};
  try {
    if (study.best() != nullptr) recall_best(lab, *study.best());
  } catch (const Cancelled&) {  // the trials end likewise, and the winner is built in the end
  }
  const auto objective = [&lab](search::Job& trial) { return try_point(lab, trial); };
  const Finding result = strategy->run({.lab = &lab,
                                        .job = job,
                                        .spaces = spaces,
                                        .space = spaces.each.front(),
                                        .study = study,
                                        .objective = objective,
                                        .listener = monitor.listener,
                                        .stop = monitor.stop,
                                        .samples = samples.calibration,
                                        .earlier = earlier,
                                        .begin = begin});
  summary.calibrate_s = variants.seconds();
  summary.trials_s = phase.seconds();

  const CancelScope to_the_end{std::stop_token()};  // what was found is written, whatever stopped the search
  const search::Trial* best = result.winner ? &study.at(*result.winner) : study.best();
  if (best != nullptr) summary.best = measure_winner(lab, *best, samples, monitor.stop);
  measure_holdout(summary, lab, samples, monitor.stop);
  summary.trials.assign(study.trials().begin(), study.trials().end());
  summary.front = search::pareto_front(summary.trials, job.goals.directions());
  summary.counts = result.counts;
  summary.reason = result.reason;
  summary.story = result.story;
  summary.status = monitor.stop.stop_requested() ? Status::interrupted : status_of(job, summary, result);
}

}  // namespace

Summary search(const Job& job, const Monitor& monitor) {
  const Stopwatch total;
  const auto begin = Deadline::Clock::now();
  Summary summary;
  for (const auto& warning : job.warnings) tell(monitor.log, Level::warning, warning);
  const auto seconds = time_limit_of(conditions_of(job));
  const Deadline limit(monitor.stop, seconds ? std::optional(Deadline::after(*seconds, begin)) : std::nullopt);
  try {
    const CancelScope scope(limit.token());
    carry_out(summary, job, monitor, begin);
  } catch (const Cancelled&) {
    if (!limit.passed()) throw;
    summary.status = Status::no_candidate;
    summary.reason = "time_limit of " + Json(*seconds).dump() + " s reached before the first trial";
  }
  summary.seconds = total.seconds();
  return summary;
}

namespace {

// Seconds of one trial: as the user expects it, as earlier trials took, or from the float model's own time.
double seconds_per_trial(const Job& job, const Setting& setting) {
  if (job.expected_seconds > 0) return job.expected_seconds;
  std::vector<double> took;
  for (const auto& trial : setting.earlier) {
    if (const auto seconds = trial.seconds()) took.push_back(*seconds);
  }
  if (took.empty()) {
    const auto one = runtime::latency(setting.model, *setting.samples.evaluation).median_ms / 1000;
    return one * static_cast<double>(setting.samples.evaluation->size());
  }
  std::ranges::nth_element(took, took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2));
  return took[took.size() / 2];
}

// Trials that the job may run: {trials, of which in the first stage}; every point of a grid, else n_trials.
uint64_t trials_of(const Job& job, const Spaces& spaces) {
  uint64_t points = 0, calibrations = 0;
  bool finite = true;
  for (size_t i = 0; i < spaces.each.size(); ++i) {
    finite = finite && spaces.each[i].valid();
    points += spaces.each[i].valid().value_or(0);
    calibrations += spaces.calibration[i].valid().value_or(0);
  }
  const auto wanted = trials_wanted(job);
  if (job.strategy == "two_stage")
    return calibrations +
           static_cast<uint64_t>(wanted.value_or(static_cast<int64_t>(points / std::max<uint64_t>(calibrations, 1))));
  if (!wanted) return points;
  return finite ? std::min(points, static_cast<uint64_t>(*wanted)) : static_cast<uint64_t>(*wanted);
}

}  // namespace

Json dry_run(const Job& job) {
  const Setting setting = prepare(job);
  const data::Splits& samples = setting.samples;
  const Calibration checked(setting.model, samples.calibration, setting.spaces.needs, {});
  const uint64_t trials = trials_of(job, setting.spaces);
  Json facts{
      {"space", setting.spaces.facts[0]}, {"strategy", job.strategy}, {"trials", trials}, {"nodes", setting.model.nodes.size()}};
  if (job.spaces.size() > 1) facts["spaces"] = setting.spaces.facts;
  if (job.translated) facts["search_space"] = job.spaces.size() == 1 ? job.spaces[0] : Json(job.spaces);
  facts["samples"] = {{"calibration", samples.calibration->size()}, {"evaluation", samples.evaluation->size()}};
  if (samples.holdout) facts["samples"]["holdout"] = samples.holdout->size();
  facts["expected_s"] = seconds_per_trial(job, setting) * static_cast<double>(trials) / static_cast<double>(job.n_jobs);
  if (!job.warm_start.empty()) facts["warm_start"] = warm_start_facts(setting.spaces, setting.earlier);
  facts["warnings"] = job.warnings;
  return facts;
}

Json words_of_trial(const fs::path& output_dir, int64_t number) {
  const fs::path file = study_file(output_dir);
  const auto storage = search::open_storage(file.string());
  const auto studies = storage->studies();
  if (studies.size() != 1)
    throw Error(file.string() + " holds " + std::to_string(studies.size()) + " studies, but must hold one");
  for (const auto& trial : storage->trials(studies.front().id)) {
    if (trial.number != number) continue;
    if (trial.user_attributes.contains("config")) return trial.user_attributes.at("config");
    throw Error("trial " + std::to_string(number) + " of the study in " + output_dir.string() + " did not finish");
  }
  throw Error("the study in " + output_dir.string() + " has no trial " + std::to_string(number));
}

}  // namespace quasar::tune
