#include "quasar/tune/search.hpp"

#include <set>

#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/exclude.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/runtime/prepare.hpp"
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
  std::set<std::string> excludes;  // every exclude list of the space, as JSON
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
    needs.excludes.insert(Json(config.exclude).dump());
  }
  return needs;
}

// Everything that a job needs before its first trial.
struct Setting {
  search::Space space;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<quant::Target> target;
  graph::Model model;
  data::Splits samples;
  CalibrationNeeds needs;
};

// Loads and checks whatever can be wrong, without writing anything.
Setting prepare(const Job& job) {
  Setting setting;
  Needs needs = job.search_space.empty() ? Needs() : needs_of(job.search_space);
  setting.strategy = strategies::table().make(job.strategy);
  setting.strategy->check(job, search::Space::parse(job.search_space));
  setting.target = quant::targets::table().make(job.target);
  setting.model = runtime::prepare(graph::load(job.model));
  setting.space = search::Space::parse(setting.strategy->space_of(job, setting.model, *setting.target));
  for (const auto& words : setting.strategy->also_needs(job, setting.model, *setting.target))
    needs.calibration.add(quant::parse_config(words));
  setting.needs = needs.calibration;
  const graph::Index index(setting.model);
  for (const auto& text : needs.excludes) quant::excluded_nodes(parse_json(text, "exclude").get<std::vector<Json>>(), index);
  setting.samples = open_data(job, setting.model);
  return setting;
}

std::string storage_url(const Job& job) {
  if (job.storage.find("://") != std::string::npos || job.storage == "memory") return job.storage;
  return (job.output_dir / job.storage).string();
}

// A resumed study must be about the same model and goal, otherwise its values cannot be compared.
void bind(search::Study& study, const Job& job) {
  const Json goal{{"model", hash_of(read_file(job.model))}, {"metric", job.metrics.front()}, {"target", job.target}};
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

Winner measure_winner(const Laboratory& lab, const search::Trial& trial, const data::Splits& samples) {
  Winner winner;
  winner.trial = trial;
  winner.config = quant::parse_config(config_words(lab.space, trial.point));
  const quant::Plan plan = plan_of(lab, winner.config);
  const graph::Model model = build(lab, plan).model;
  const fs::path path = lab.job.output_dir / "best.onnx";
  graph::save(model, path);
  winner.bytes = fs::file_size(path);
  const auto known = lab.book.find(trial.number);
  winner.metrics = known ? *known : lab.evaluator.score(model, cores());
  winner.latency = runtime::latency(model, *samples.evaluation);
  std::vector<std::string> nodes;
  for (const auto& [name, planned] : plan.nodes) nodes.push_back(name);
  for (const auto& [name, runs] : runtime::runs_quantized(model, nodes)) (runs ? winner.quantized_nodes : winner.float_nodes)++;
  winner.float_nodes += plan.skipped.size();
  Json params = Json::object();
  for (const auto& [name, value] : trial.point.values()) params[name] = value;
  write_file(lab.job.output_dir / "best_params.json", params.dump(2) + "\n");
  write_file(lab.job.output_dir / "best_config.yaml", to_yaml(quant::to_json(winner.config)));
  return winner;
}

void measure_holdout(Summary& summary, const Laboratory& lab, const data::Splits& samples) {
  if (!samples.holdout || !summary.best) return;
  const eval::Evaluator evaluator(lab.model, samples.holdout,
                                  {.metrics = lab.job.metrics, .memory_limit = lab.job.memory_limit, .spill = lab.job.temp_dir});
  summary.baseline.holdout = evaluator.reference();
  summary.best->holdout = evaluator.score(graph::load(lab.job.output_dir / "best.onnx"), cores());
}

Status status_of(const Job& job, const Summary& summary, const search::RunResult& result) {
  if (result.end == search::RunResult::End::interrupted) return Status::interrupted;
  if (!summary.best) return Status::no_candidate;
  if (job.criterion && !summary.best->trial.is_candidate()) return Status::goal_missed;
  if (!job.tolerance.is_null() && !summary.best->trial.is_candidate()) return Status::no_candidate;
  return Status::ok;
}

}  // namespace

Summary search(const Job& job, const Monitor& monitor) {
  const Stopwatch total;
  Stopwatch phase;
  Summary summary;
  for (const auto& warning : job.warnings) tell(monitor.log, Level::warning, warning);
  const auto [space, strategy, target, model, samples, needs] = prepare(job);
  Calibration calibration(model, samples.calibration, needs, monitor.log);
  Rounder rounder(model, samples.calibration,
                  {.memory_limit = job.memory_limit,
                   .threads = std::max<size_t>(1, cores() / static_cast<size_t>(job.n_jobs)),
                   .log = monitor.log});
  summary.prepare_s = phase.seconds();

  phase = {};
  const auto check = [&] {
    if (monitor.stop.stop_requested()) throw Cancelled("the search was stopped");
  };
  const eval::Evaluator evaluator(
      model, samples.evaluation,
      {.metrics = job.metrics, .memory_limit = job.memory_limit, .spill = job.temp_dir, .check = check});
  if (job.criterion) {
    const std::string& metric = job.metrics.front();
    check_reachable(*job.criterion, metric, evaluator.reference().at(metric).value);
  }
  summary.baseline = {.metrics = evaluator.reference(),
                      .holdout = {},
                      .bytes = fs::file_size(job.model),
                      .latency = runtime::latency(model, *samples.evaluation)};
  summary.float_s = phase.seconds();
  calibration.observe();

  phase = {};
  fs::create_directories(job.output_dir);
  const auto storage = search::open_storage(storage_url(job));
  search::Study study(*storage,
                      {.name = job.study_name, .directions = {direction_of(job.metrics.front())}, .resume = job.load_if_exists});
  bind(study, job);
  ScoreBook book;
  const Laboratory lab{job, model, *target, space, calibration, rounder, evaluator, book};
  const auto objective = [&lab](search::Job& trial) { return try_point(lab, trial); };
  const Finding result = strategy->run({lab, job, space, study, objective, monitor.listener, monitor.stop, samples.calibration});
  summary.calibrate_s = calibration.seconds();
  summary.trials_s = phase.seconds();

  const search::Trial* best = result.winner ? &study.at(*result.winner) : study.best();
  if (best != nullptr) summary.best = measure_winner(lab, *best, samples);
  measure_holdout(summary, lab, samples);
  summary.trials.assign(study.trials().begin(), study.trials().end());
  summary.counts = result.counts;
  summary.reason = result.reason;
  summary.story = result.story;
  summary.status = status_of(job, summary, result);
  summary.seconds = total.seconds();
  return summary;
}

Json dry_run(const Job& job) {
  const auto [space, strategy, target, model, samples, needs] = prepare(job);
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
