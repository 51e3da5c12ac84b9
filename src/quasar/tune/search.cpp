#include "quasar/tune/search.hpp"

#include <set>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/node_names.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/tune/portrait.hpp"
#include "quasar/tune/precision.hpp"
#include "quasar/tune/quantize.hpp"
#include "quasar/tune/strategy.hpp"
#include "quasar/tune/trial.hpp"

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

// Every configuration of a space of this size is looked at before the start; a larger one is checked trial by trial.
constexpr uint64_t enumerable = 20000;

// What the configurations of the space need; wrong words are found before anything runs.
// What the configurations of the space need of the samples; wrong words are found here, before anything runs. Rounding is left
// out: it needs no statistics, and its ranges may be continuous.
struct Needs {
  CalibrationNeeds calibration;
  std::map<std::string, quant::Config> names;  // by what they say of names: one configuration for all that say the same
};

Needs needs_of(const Json& search_space) {
  const search::Space space = search::Space::parse(quant::without_rounding(search_space));
  Needs needs;
  const auto size = space.size();
  if (!size || *size > enumerable) {
    throw Error("search_space has " + (size ? std::to_string(*size) : std::string("infinitely many")) +
                " points; spaces of more than " + std::to_string(enumerable) + " points are not yet supported");
  }
  for (uint64_t i = 0; i < *size; ++i) {
    const quant::Config config = quant::parse_config(space.decode(space.at(i)));
    needs.calibration.add(config);
    needs.names.emplace(Json(config.exclude).dump() + to_json(config.layers).dump(), config);
  }
  return needs;
}

// Everything that a job needs before its first trial.
struct Setting {
  search::Space space;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<quant::Target> target;
  graph::Model original, model;  // as it came, and after clean-up
  data::Splits samples;
  CalibrationNeeds needs;
};

// Loads and checks whatever can be wrong, without writing anything.
Setting prepare(const Job& job) {
  Setting setting;
  const Needs needs = needs_of(job.search_space);
  setting.needs = needs.calibration;
  setting.strategy = strategies::table().make(job.strategy);
  setting.strategy->check(job, search::Space::parse(job.search_space));
  setting.target = quant::targets::table().make(job.target);
  setting.original = graph::load(job.model);
  setting.model = runtime::prepare(setting.original);
  setting.space = search::Space::parse(setting.strategy->space_of(job, setting.model, *setting.target));
  const quant::NodeNames names(setting.original, setting.model);
  for (const auto& [said, config] : needs.names) names.resolved(config);
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

}  // namespace

namespace {

// Everything but the limits: fills in the summary phase by phase.
void carry_out(Summary& summary, const Job& job, const Monitor& monitor, Deadline::Clock::time_point begin) {
  Stopwatch phase;
  const auto [space, strategy, target, original, model, samples, needs] = prepare(job);
  const RounderOptions rounding{.memory_limit = job.memory_limit,
                                .threads = std::max<size_t>(1, cores() / static_cast<size_t>(job.n_jobs)),
                                .log = monitor.log};
  Variants variants(original, model, samples.calibration, needs, {.rounding = rounding, .log = monitor.log});
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
  ScoreBook book;
  Quiet quiet;
  const auto racer = strategy->races() ? racer_of(job, study, evaluator) : nullptr;
  const Laboratory lab{job, model, *target, space, variants, evaluator, book, *samples.evaluation, quiet, racer.get()};
  try {
    if (study.best() != nullptr) recall_best(lab, *study.best());
  } catch (const Cancelled&) {  // the trials end likewise, and the winner is built in the end
  }
  const auto objective = [&lab](search::Job& trial) { return try_point(lab, trial); };
  const Finding result =
      strategy->run({lab, job, space, study, objective, monitor.listener, monitor.stop, samples.calibration, begin});
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

Json dry_run(const Job& job) {
  const auto [space, strategy, target, original, model, samples, needs] = prepare(job);
  const Calibration checked(model, samples.calibration, needs, {});
  const uint64_t points = space.size().value_or(0);
  const uint64_t wanted = job.n_trials > 0 ? static_cast<uint64_t>(job.n_trials) : job.search_algo == "grid" ? points : 20;
  const uint64_t trials = std::min(points, wanted);
  Json facts{{"space", {{"points", points}}}, {"trials", trials}, {"nodes", model.nodes.size()}};
  facts["samples"] = {{"calibration", samples.calibration->size()}, {"evaluation", samples.evaluation->size()}};
  if (samples.holdout) facts["samples"]["holdout"] = samples.holdout->size();
  if (job.expected_seconds > 0)
    facts["expected_s"] = job.expected_seconds * static_cast<double>(trials) / static_cast<double>(job.n_jobs);
  return facts;
}

Json words_of_trial(const fs::path& output_dir, int64_t number) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& file : fs::directory_iterator(output_dir, code)) {
    if (file.path().extension() == ".db") files.push_back(file.path());
  }
  if (files.size() != 1) {
    throw Error(output_dir.string() + (files.empty() ? " holds no study (no .db file)"
                                                     : " holds several .db files, so it is not clear which study is meant"));
  }
  const auto storage = search::open_storage(files.front().string());
  const auto studies = storage->studies();
  if (studies.size() != 1)
    throw Error(files.front().string() + " holds " + std::to_string(studies.size()) + " studies, but must hold one");
  for (const auto& trial : storage->trials(studies.front().id)) {
    if (trial.number != number) continue;
    if (trial.user_attributes.contains("config")) return trial.user_attributes.at("config");
    throw Error("trial " + std::to_string(number) + " of the study in " + output_dir.string() + " did not finish");
  }
  throw Error("the study in " + output_dir.string() + " has no trial " + std::to_string(number));
}

}  // namespace quasar::tune
