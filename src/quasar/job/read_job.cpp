#include "quasar/job/read_job.hpp"

#include <algorithm>

#include "quasar/base/machine.hpp"
#include "quasar/base/system/shared_machine.hpp"
#include "quasar/data/described.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/graph/skeleton.hpp"
#include "quasar/job/job_parts.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/job/v1.hpp"
#include "quasar/quant/config/usual_target.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/search/misspelt.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

fs::path from(const fs::path& base, const std::string& path) {
  return fs::path(path).is_absolute() ? fs::path(path) : base / path;
}

SampleKeys samples_of(const Options& keys) {
  SampleKeys samples;
  samples.calibration = keys.json("calib_data_reader");
  samples.evaluation = keys.json("eval_data_reader");
  samples.holdout = keys.json("holdout_data_reader");
  samples.data = keys.json("data_reader");
  samples.split = keys.json("split");
  if (samples.split.is_null() != samples.data.is_null())
    throw Error("keys 'split' and 'data_reader' belong together: one of them is missing");
  if (!samples.split.is_null()) {
    if (!samples.calibration.is_null()) throw Error("calib_data_reader contradicts split: give one of them");
    if (!samples.evaluation.is_null()) throw Error("eval_data_reader contradicts split: give one of them");
    if (!samples.holdout.is_null() && samples.split.is_object() && samples.split.contains("holdout"))
      throw Error("holdout_data_reader contradicts split.holdout: give one of them");
    return samples;
  }
  if (samples.calibration.is_null())
    throw Error("calib_data_reader is required: a reader, for example {reader: npz, path: calib.npz}");
  if (samples.evaluation.is_null()) samples.evaluation = samples.calibration;
  return samples;
}

// An evaluator of the user's may have samples of its own.
void warn_of_optimism(Job& job, const Options& keys) {
  if (!job.samples.split.is_null() || job.samples.evaluation != job.samples.calibration) return;
  if (job.aim.evaluator && !job.aim.evaluator->looks_at_samples()) return;
  job.warnings.push_back(std::string(keys.json("eval_data_reader").is_null()
                                         ? "eval_data_reader is not given"
                                         : "calib_data_reader and eval_data_reader are the same") +
                         ": candidates are scored on the calibration samples, so their scores are optimistic");
}

// With less, the system's own libraries give up where no trial can.
constexpr size_t least_memory_of_a_trial = size_t{16} << 20;

// The conditions under their own names. n_trials: 0 is as left out, as at the top level.
Json stop_of(const Json& words) {
  if (words.is_null()) return Json::object();
  if (!words.is_object()) throw Error("search_stop_condition must be a mapping, not " + words.dump());
  check_nested("search_stop_condition", words, search::stop::table().names());
  Json out = Json::object();
  for (const auto& [given, value] : words.items()) {
    const std::string& name = search::stop::table().resolve(given);
    if (out.contains(name)) throw Error("search_stop_condition." + name + " is given twice (as '" + given + "' too)");
    if (name != "n_trials" || value != 0) out[name] = value;
  }
  return out;
}

// Of two limits of time the smaller one holds.
void add_timeout(Json& stop, double timeout) {
  if (timeout == 0) return;
  const Json own = stop.value("time_limit", Json());
  const bool shorter = own.is_number() && own.get<double>() >= 0 && own.get<double>() < timeout;
  if (!shorter) stop["time_limit"] = timeout;
}

// The user's own metrics may have any value, and −1 is off, as in Quark.
void check_best_candidate(const Json& stop, const Aim& aim) {
  const Json wanted = stop.value("find_best_candidate", Json());
  const auto& [metric, direction] = aim.goals.objectives.front();
  if (!wanted.is_number() || wanted == -1 || is_own(aim.goals, metric)) return;
  const auto best = is_cost(metric) ? std::optional(0.0) : eval::make_metric(metric)->best_possible();
  if (best && search::better(wanted.get<double>(), *best, direction))
    throw Error("search_stop_condition.find_best_candidate is " + wanted.dump() + ", but " + metric + " is never better than " +
                Json(*best).dump() + "; -1 or null switches it off");
}

Limits limits_of(const Options& keys, const Aim& aim, const Named& sampler) {
  Limits out;
  out.stop = stop_of(keys.json("search_stop_condition"));
  for (const char* key : {"find_n_candidates", "find_best_candidate"}) {
    if (!aim.tolerance.is_null() || aim.criterion || !out.stop.contains(key)) continue;
    if (out.stop[key].is_number() && out.stop[key] != -1)
      throw Error(std::string("search_stop_condition.") + key + " needs search_metric_tolerance, which says what a candidate is");
  }
  search::stop_conditions(out.stop);
  check_best_candidate(out.stop, aim);
  out.n_trials = keys.integer("n_trials");
  out.exit = parse_exit_policy(keys);
  add_timeout(out.stop, out.exit.timeout);
  out.whole_space = search::samplers::table().make(sampler.name, sampler.options)->enumerates();
  out.expected_seconds = keys.real("expected_time_per_config");
  out.trial_time = keys.real("trial_time_limit");
  out.trial_memory = static_cast<size_t>(keys.integer("trial_memory_limit"));
  if (out.trial_memory > 0 && out.trial_memory < least_memory_of_a_trial)
    throw Error("trial_memory_limit is " + std::to_string(out.trial_memory) + " bytes, but must be at least " +
                std::to_string(least_memory_of_a_trial) + ", or 0 for none");
  const int64_t memory = keys.integer("memory_limit");
  out.memory = memory > 0 ? static_cast<size_t>(memory) : machine_memory() / 2;
  return out;
}

std::optional<double> speed_gate_of(const Options& keys, const StrategyFacts& strategy) {
  if (!keys.has("speed_gate") && !keys.has("search_space") && !keys.has("search_spaces")) return strategy.speed_gate();
  const Json words = keys.json("speed_gate");
  if (words.is_null() || words == false || (words.is_string() && normalized(words.get<std::string>()) == "off"))
    return std::nullopt;
  if (!words.is_number() || words.get<double>() < 1 || words.get<double>() > 100)
    throw Error("speed_gate is " + words.dump() + ", but must be a factor from 1 to 100, such as 1.02, or off");
  return words.get<double>();
}

// Its bounds are constraints, whatever the strategy.
void read_budget(Job& job, const Options& keys) {
  if (!keys.has("budget")) return;
  job.budget = parse_budget(keys.json("budget"),
                            [&] { return job.joined ? graph::saved_bytes(*job.joined) : graph::bytes_on_disk(job.model); });
  for (const Constraint& constraint : constraints_of(*job.budget)) {
    const auto same = [&](const Constraint& own) { return own.metric == constraint.metric; };
    if (std::ranges::any_of(job.aim.goals.constraints, same))
      throw Error("budget and constraints both bound " + constraint.metric + "; keep one of them");
    job.aim.goals.constraints.push_back(constraint);
  }
}

// Of several devices those of this process: processes that mpirun or srun started on one machine share them out.
std::vector<runtime::Device> devices_here(const Json& words) {
  const auto all = runtime::parse_devices(words);
  std::vector<runtime::Device> out;
  for (const size_t place : share_of(all.size())) out.push_back(all[place]);
  return out;
}

void read_search_keys(Job& job, const Options& keys) {
  job.pruner = pruner_of(keys.has("pruner") ? keys.json("pruner") : Json("confidence"));
  job.n_jobs = keys.integer("n_jobs");
  if (keys.has("search_devices")) job.devices = devices_here(keys.json("search_devices"));
  if (static_cast<size_t>(job.n_jobs) < job.devices.size()) {
    job.warnings.push_back("search_devices names " + std::to_string(job.devices.size()) + " devices, but n_jobs is " +
                           std::to_string(job.n_jobs) + ": only so many are busy at the same time");
  }
  job.seed = static_cast<uint64_t>(keys.integer("seed"));
  job.warm_start.study = keys.text("warm_start_study");
  if (!keys.has("warm_start")) {
    if (!job.warm_start.study.empty())
      throw Error("warm_start_study is '" + job.warm_start.study + "', but warm_start does not say where that study is");
    return;
  }
  if (!keys.json("warm_start").is_string())
    throw Error("warm_start is " + keys.json("warm_start").dump() + ", but must be a path");
  job.warm_start.place = keys.json("warm_start").get<std::string>();
  search::refuse_misspelt("warm_start", job.warm_start.place);
}

// Candidates run in the library that the key names, or in the target's own where that is here.
void choose_library(Job& job, const Options& keys) {
  using runtime::Library;
  const bool named = keys.has("runtime") && !keys.json("runtime").is_null();
  const std::string own = quant::targets::table().make(job.target)->runtime();
  const Library library = runtime::parse_library(named ? keys.json("runtime") : Json(own));
  const std::string other = quant::targets::table().make(job.target)->stand_in(job.devices.front().is_cpu());
  const bool stands_in = library == runtime::parse_library(own) && !other.empty();
  if (library == Library::onnxruntime) {
    if (stands_in) job.warnings.push_back(other);
    return;
  }
  const std::string name = runtime::name_of(library);
  std::string why = runtime::obstacle_to(library);
  if (const auto& device = job.devices.front(); job.devices.size() > 1 || !device.is_cpu())
    why = "search_devices is " + keys.json("search_devices").dump() + ", where it does not run; leave search_devices out";
  if (why.empty()) {
    job.devices = {runtime::Device{.library = library}};
    if (stands_in) job.warnings.push_back(other);
  } else if (named) {
    throw Error("runtime is " + name + ", but " + why);
  } else {
    job.warnings.push_back("candidates are scored and timed by ONNX Runtime, and not by " + name + ", which target " +
                           job.target + " is for: " + why);
  }
}

void read_places(Job& job, const Options& keys) {
  job.output.dir = from(job.base, keys.text("output_dir"));
  job.output.temp_dir = keys.text("temp_dir").empty() ? job.output.dir / "tmp" : from(job.base, keys.text("temp_dir"));
  if (keys.has("search_log_path"))
    job.warnings.push_back("search_log_path has no effect: the log is auto_search.log in output_dir, as Auto Search's own is");
  if (keys.has("statistics_dir")) {
    const Json& folder = keys.json("statistics_dir");
    if (!folder.is_string()) throw Error("statistics_dir is " + folder.dump() + ", but must be a folder");
    if (folder != "") job.output.statistics_dir = job.base / folder.get<std::string>();
  }
  job.study = study_of(keys, job.base, job.output.dir);
  job.output.keep_models = keys.text("keep_models");
  job.output.plot_results = keys.flag("plot_results");
}

// Where it is not given, the usual one of every space. A v1 space that names types of 8 bits keeps the target of quant_config:
// XINT8.
std::string target_of(Job& job, const Options& keys, const Json& words) {
  if (keys.has("target")) return quant::targets::table().resolve(keys.text("target"));
  const auto is_default = [](const quant::UsualTarget& one) { return one.name == quant::default_target; };
  std::vector<quant::UsualTarget> usual;
  const Json several = words.value("search_spaces", Json()), base = job.words.value("quant_config", Json());
  for (const Json& space : several.is_array() ? several : Json::array({words.value("search_space", Json())}))
    usual.push_back(quant::usual_target(space));
  if (job.translated && base.is_string()) {
    if (auto own = quant::usual_target({{"scheme", base}}); !is_default(own)) usual = {own};
  }
  if (usual.empty() || std::ranges::any_of(usual, is_default)) return quant::default_target;
  job.words["target"] = usual.front().name;  // repair, which may follow, has another space
  job.warnings.push_back(usual.front().told);
  return usual.front().name;
}

// What accuracy_criterion is about where nothing says so: a metric that is a share, since a distance is 0 for the float model.
std::string metric_of_goal(const Json& words, const fs::path& base) {
  Json objective = words.value("search_metric", Json());
  if (objective.is_array() && !objective.empty()) objective = objective.front();
  if (!objective.is_null()) {
    const std::string name = metric_named(objective, "search_metric", {});
    if (direction_of(name, {}) == Direction::maximize) return name;
  }
  for (const char* key : {"eval_data_reader", "data_reader", "calib_data_reader"}) {  // the last where no other is there
    const Json data = words.value(key, Json());
    if (!data.is_null()) return data::has_classes(data, base) ? "top1" : "cos";
  }
  return "cos";
}

// Goal and objective of a budget with an accuracy.
void give_accuracy_of_budget(Json& words, const fs::path& base) {
  const auto found = words.contains("budget") ? accuracy_of_budget(words["budget"]) : std::nullopt;
  if (!found) return;
  for (const char* key : {"accuracy_criterion", "objectives"}) {
    if (!words.value(key, Json()).is_null())
      throw Error(std::string(key) +
                  " beside budget.accuracy, which says what may be lost and makes a cost small: keep one of them");
  }
  for (const char* key : {"direction", "search_metric_tolerance"}) {
    if (!words.value(key, Json()).is_null())
      throw Error(std::string(key) + " has no effect beside budget.accuracy, which says what may be lost: leave it out");
  }
  Json criterion = found->criterion;
  const bool says_metric = !words.value("search_metric", Json()).is_null() || !words.value("search_evaluator", Json()).is_null();
  if (!says_metric && !criterion.contains("metrics")) criterion["metrics"] = {{metric_of_goal(words, base), 1}};
  words["accuracy_criterion"] = criterion;
  words["objectives"] = found->objectives;
}

// Neural Compressor's default goal, where a strategy needs one and none is given.
void give_goal(Job& job, Json& words, const KnownStrategies& strategies) {
  const Options keys(job_keys(), words, "configuration");
  if (keys.has("accuracy_criterion") || keys.has("budget")) return;  // what a budget bounds is the goal
  const std::string strategy = strategy_of(keys, parse_tuning_keys(keys), strategies);
  if (!parse_exit_policy(keys).given && !strategies.of(strategy)->has_goal()) return;
  if (keys.has("objectives"))
    throw Error("strategy " + strategy + " beside objectives needs accuracy_criterion: the goal to reach");
  Json goal{{"criterion", "relative"}, {"tolerable_loss", 0.01}};
  std::string about = "search_evaluator";
  if (!keys.has("search_evaluator")) {
    about = metric_of_goal(words, job.base);
    goal["metrics"] = {{about, 1}};
  }
  words["accuracy_criterion"] = job.words["accuracy_criterion"] = goal;
  job.warnings.push_back("accuracy_criterion is left out: at most 1 % of the float model's " + about +
                         " may be lost, Neural Compressor's default");
}

// Outputs that only cross between models count nothing beside the user's own factors either.
void leave_crossing_out(Json& words, const graph::Model& joined) {
  Json& factors = words["output_weights"];
  for (const auto& value : graph::pipeline_of(joined)->crossing()) {
    if (!factors.contains(value)) factors[value] = 0;
  }
}

// One model, or several that are joined. Whoever reads the job's words again (a worker, `quasar quantize --from-study`) finds the
// joined one in its file.
void read_model(Job& job, const Options& keys) {
  if (keys.has("models") && !keys.text("model_input").empty())
    throw Error("model_input and models are given; keep one of them: model_input for one model, models for several");
  if (!keys.has("models")) {
    if (keys.text("model_input").empty())
      throw Error("model_input is required: the path of the float ONNX model (or models: several that run one after the other)");
    job.model = from(job.base, keys.text("model_input"));
    return;
  }
  job.models = files_of_models(keys.json("models"), job.base);
  job.joined = std::make_shared<const graph::Model>(joined_models(keys.json("models"), job.base));
  job.model = fs::absolute(from(job.base, keys.text("output_dir")) / "pipeline.onnx").lexically_normal();
  job.words.erase("models");
  job.words["model_input"] = job.model.string();
  if (job.words.contains("output_weights") && job.words["output_weights"].is_object()) leave_crossing_out(job.words, *job.joined);
}

std::vector<fs::path> operator_libraries(const Options& keys, const fs::path& base) {
  std::vector<fs::path> out;
  if (!keys.has("custom_op_library")) return out;
  const Json& given = keys.json("custom_op_library");
  for (const Json& one : given.is_array() ? given : Json::array({given})) {
    if (!one.is_string() || one == "")
      throw Error("custom_op_library is " + given.dump() + ", but must be a path or a list of paths");
    out.push_back(from(base, one.get<std::string>()));
  }
  return out;
}

// Without what must not be written anywhere.
Json without_secrets(const Json& words) {
  if (!words.is_object() && !words.is_array()) return words;
  Json out = words.is_object() ? Json::object() : Json::array();
  for (const auto& [name, value] : words.items()) {
    if (words.is_array()) {
      out.push_back(without_secrets(value));
    } else if (normalized(name) != normalized(secret_keyword)) {
      out[name] = without_secrets(value);
    }
  }
  return out;
}

}  // namespace

Job read_job(const Json& given, const fs::path& base, const KnownStrategies& strategies) {
  if (!given.is_object()) throw Error("a configuration must be a mapping, not " + given.dump());
  Job job;
  job.base = base;
  job.words = with_named_spaces(with_preset(canonical_keys(given)));
  check_places(job.words);
  JobTranslation v1 = job_from_v1(job.words);
  job.translated = v1.translated;
  job.warnings = std::move(v1.notes);
  give_accuracy_of_budget(v1.words, base);
  give_goal(job, v1.words, strategies);
  const Options keys(job_keys(), v1.words, "configuration");
  read_model(job, keys);
  job.operator_libraries = operator_libraries(keys, base);
  job.samples = samples_of(keys);
  job.target = target_of(job, keys, v1.words);
  if (keys.has("saturation"))
    quant::saturation_on(*quant::targets::table().make(job.target), quant::parse_saturation(keys.json("saturation")));
  job.tuning = parse_tuning_keys(keys);
  job.strategy = strategy_of(keys, job.tuning, strategies);
  const auto strategy = strategies.of(job.strategy);
  read_spaces_key(job, keys, *strategy);
  check_stages(job, *strategy);
  job.sampler = sampler_of(keys.has("search_algo") ? keys.json("search_algo") : Json("TPE"));
  job.aim = aim_of(keys, base, *strategy);
  if (job.joined && job.aim.output_weights.is_object()) job.aim.output_weights = job.words.at("output_weights");
  read_budget(job, keys);
  warn_of_optimism(job, keys);
  job.limits = limits_of(keys, job.aim, job.sampler);
  read_search_keys(job, keys);
  choose_library(job, keys);
  job.speed_gate = speed_gate_of(keys, *strategy);
  if (job.speed_gate && canonical_keys(given).contains("speed_gate") &&
      (!quant::targets::table().make(job.target)->timed_here() || !job.devices.front().is_cpu()))
    job.warnings.push_back("speed_gate has no effect: it measures on ONNX Runtime's CPU, which candidates do not run on here");
  check_tuning_keys(job, keys, strategies);
  if (!job.warm_start.place.empty() && !strategy->learns_from_earlier()) {
    job.warnings.push_back("warm_start has no effect: strategy " + job.strategy +
                           " decides step by step what it tries, whatever was tried before");
    job.warm_start.place.clear();  // and is not looked at
  }
  if (!job.enqueue.empty() && !strategy->tries_enqueued()) {
    std::vector<std::string> others = strategies.names;
    std::erase_if(others, [&](const std::string& name) { return !strategies.of(name)->tries_enqueued(); });
    throw Error("enqueue: strategy " + job.strategy + " decides by itself what it tries: leave enqueue out, or take a strategy " +
                "that tries what it is given: " + joined(others));
  }
  job.words = without_secrets(job.words);
  read_places(job, keys);
  return job;
}

}  // namespace quasar::tune
