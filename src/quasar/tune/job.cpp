#include "quasar/tune/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "quasar/base/file.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/quant/recipes.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/tune/preset.hpp"
#include "quasar/tune/spaces.hpp"
#include "quasar/tune/strategy.hpp"
#include "quasar/tune/v1.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// A key of the contract that a later version brings, and the value that means "off".
struct LaterKey {
  std::string name;
  Json off;
};

const std::vector<LaterKey>& later_keys() {
  static const std::vector<LaterKey> all{{"approach", "static"}, {"custom_op_library", nullptr}};
  return all;
}

fs::path from(const fs::path& base, const std::string& path) {
  return fs::path(path).is_absolute() ? fs::path(path) : base / path;
}

size_t half_of_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

void refuse_later_keys(Json& words) {
  const Json given = words;
  for (const auto& later : later_keys()) {
    for (const auto& [name, value] : given.items()) {
      if (normalized(name) != normalized(later.name)) continue;
      if (!value.is_null() && value != later.off) {
        throw Error("key '" + later.name + "' is not yet supported (" + later.name + ": " + later.off.dump() + " is accepted)");
      }
      words.erase(name);
    }
  }
}

std::vector<std::string> metric_names(const Options& keys) {
  const Json given = keys.has("search_metric") ? keys.json("search_metric") : Json("L2");
  Json list = given.is_array() ? given : Json::array({given});
  if (keys.has("search_evaluator")) {  // decides; the metrics that the user names as well are reported
    const Json evaluator = keys.json("search_evaluator");
    if (!evaluator.is_string())
      throw Error("search_evaluator: only the name of a metric is supported yet, not " + evaluator.dump());
    if (!keys.given("search_metric")) list = Json::array();
    list.erase(std::remove(list.begin(), list.end(), evaluator), list.end());
    list.insert(list.begin(), evaluator);
  }
  std::vector<std::string> names;
  for (const auto& name : list) {
    if (!name.is_string()) throw Error("search_metric: " + name.dump() + " is not the name of a metric");
    names.push_back(eval::metrics::table().resolve(name.get<std::string>()));
  }
  if (names.empty()) throw Error("search_metric is an empty list, but must name at least one metric");
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    throw Error("search_metric names a metric twice: " + given.dump());
  return names;
}

// An explicit contradiction with a built-in metric is an error: a search in the wrong direction returns the worst model.
void check_direction(const Options& keys, const std::string& metric) {
  if (!keys.has("direction")) return;
  const Json& word = keys.json("direction");
  if (word != "minimize" && word != "maximize") throw Error("direction is " + word.dump() + ", but must be minimize or maximize");
  const std::string given = word.get<std::string>();
  const bool maximize = eval::metrics::table().make(metric)->direction() == eval::Direction::maximize;
  if ((given == "maximize") != maximize) {
    throw Error("direction is '" + given + "', but metric " + metric + " is better when " +
                (maximize ? "higher (maximize)" : "lower (minimize)") + "; leave the key out");
  }
}

// A name, or {name: …, option: value}: checked here, so that a wrong option is found before anything runs.
Json pruner_of(const Json& words) {
  Json options = words.is_object() ? words : Json{{"name", words}};
  const Json name = options.value("name", Json());
  if (!name.is_string()) throw Error("pruner is " + words.dump() + ", but must be a name or {name: ..., option: value}");
  options.erase("name");
  search::pruners::table().make(name.get<std::string>(), options);
  return {{"name", search::pruners::table().resolve(name.get<std::string>())}, {"options", options}};
}

void read_goals(Job& job, const Options& keys) {
  const bool several = !keys.json("objectives").is_null();
  if (several && keys.has("direction")) throw Error("direction is for search_metric; every one of 'objectives' knows its own");
  const bool plain = !several || keys.given("search_metric") || keys.given("search_evaluator");
  const std::vector<std::string> metrics = plain ? metric_names(keys) : std::vector<std::string>();
  job.goals = parse_goals(keys.json("objectives"), keys.json("constraints"), metrics);
  if (!several) check_direction(keys, metrics.front());
  job.metrics = scored(job.goals, metrics);
  if (job.metrics.empty()) job.metrics = {"L2"};
}

void read_data_keys(Job& job, const Options& keys) {
  job.calibration = keys.json("calib_data_reader");
  job.evaluation = keys.json("eval_data_reader");
  job.holdout = keys.json("holdout_data_reader");
  job.data = keys.json("data_reader");
  job.split = keys.json("split");
  if (job.split.is_null() != job.data.is_null())
    throw Error("keys 'split' and 'data_reader' belong together: one of them is missing");
  if (!job.split.is_null()) {
    if (!job.calibration.is_null()) throw Error("calib_data_reader contradicts split: give one of them");
    return;
  }
  if (job.calibration.is_null())
    throw Error("calib_data_reader is required: a reader, for example {reader: npz, path: calib.npz}");
  if (job.evaluation == job.calibration && !job.calibration.is_null()) {
    job.warnings.push_back(
        "calib_data_reader and eval_data_reader are the same: candidates are scored on the calibration samples, so their scores "
        "are optimistic");
  }
  if (job.evaluation.is_null()) {
    job.evaluation = job.calibration;
    job.warnings.push_back(
        "eval_data_reader is not given: candidates are scored on the calibration samples, so their scores are optimistic");
  }
}

}  // namespace

namespace {

std::vector<OptionSpec> own_keys() {
  return {
      {.name = "model_input", .fallback = "", .help = "the float ONNX model"},
      {.name = "base_framework", .fallback = "onnx", .help = "always onnx", .choices = {"onnx"}},
      {.name = "calib_data_reader", .fallback = nullptr, .help = "samples that ranges are taken from"},
      {.name = "eval_data_reader", .fallback = nullptr, .help = "samples that candidates are scored on"},
      {.name = "holdout_data_reader",
       .fallback = nullptr,
       .help = "samples that only the winner and the float model are scored on"},
      {.name = "data_reader", .fallback = nullptr, .help = "one source for all, cut by split"},
      {.name = "split", .fallback = nullptr, .help = "{calibration: 100, evaluation: 300, holdout: rest, seed: 0}"},
      {.name = "preset", .fallback = nullptr, .help = "fills the keys that are left out; see `quasar list presets`"},
      {.name = "search_space", .fallback = nullptr, .help = "what may vary"},
      {.name = "search_spaces",
       .fallback = nullptr,
       .help = "several spaces, searched in this order; names of presets stand for theirs"},
      {.name = "quant_config",
       .fallback = nullptr,
       .help = "v1: what holds where the space says nothing; a scheme's name or a mapping",
       .aliases = {"default_config"}},
      {.name = "advanced_fastft_search", .fallback = false, .help = "v1: NumIterations and LearningRate as ranges"},
      {.name = "advanced_fastft_params",
       .fallback = nullptr,
       .help = "v1: {sampler_algo: TPE, direction: minimize, n_trials: 10}"},
      {.name = "warm_start",
       .fallback = nullptr,
       .help = "an earlier search's output folder or database: its trials teach the sampler"},
      {.name = "strategy",
       .fallback = nullptr,
       .help = "who decides what is tried next (flat; repair with accuracy_criterion and no search_space)"},
      {.name = "two_stage_search", .fallback = false, .help = "calibration first, then fine-tuning"},
      {.name = "search_algo",
       .fallback = nullptr,
       .help = "sampler (default TPE), or {name: Random, uniform: true} with its options; see `quasar list samplers`",
       .aliases = {"sampler"}},
      {.name = "search_metric", .fallback = nullptr, .help = "name or list: the first is the objective (default L2)"},
      {.name = "objectives",
       .fallback = nullptr,
       .help = "[{metric: top1}, {metric: latency}]; metrics, bytes, latency (ms), peak_memory (bytes)"},
      {.name = "constraints", .fallback = nullptr, .help = "[{metric: top1, max_drop: 0.01}]; bounds max_drop, max, min"},
      {.name = "search_evaluator", .fallback = nullptr, .help = "the name of a metric"},
      {.name = "direction", .fallback = nullptr, .help = "minimize or maximize; the metric's own when left out"},
      {.name = "search_metric_tolerance",
       .fallback = nullptr,
       .help = "a trial not worse than float by more than this is a candidate"},
      {.name = "accuracy_criterion",
       .fallback = nullptr,
       .help = "{criterion: relative | absolute, tolerable_loss: 0.01, higher_is_better}: how much may be lost"},
      {.name = "search_stop_condition",
       .fallback = Json::object(),
       .help = "{find_n_candidates, find_best_candidate, iteration_limit, time_limit, patience}"},
      {.name = "n_trials", .fallback = 0, .help = "trials in all (default 20; Grid: the whole space)", .low = 0},
      {.name = "pruner",
       .fallback = "confidence",
       .help = "when a trial is given up early: a name, or {name: confidence, alpha: 0.01}; see `quasar list pruners`"},
      {.name = "n_jobs", .fallback = 1, .help = "trials at the same time", .low = 1, .high = 1024},
      {.name = "search_devices", .fallback = "cpu", .help = "cpu", .choices = {"cpu"}},
      {.name = "seed", .fallback = 0, .help = "of everything random", .low = 0},
      {.name = "target", .fallback = "ort_cpu", .help = "what the model must run on"},
      {.name = "calibration_sampling_size",
       .fallback = nullptr,
       .help = "number of calibration samples, or a list to search over",
       .aliases = {"CalibDataSize"}},
      {.name = "output_dir", .fallback = "./quasar_out", .help = "where results go", .aliases = {"search_output_dir"}},
      {.name = "temp_dir",
       .fallback = "",
       .help = "for float outputs beyond the memory limit (default output_dir/tmp)",
       .aliases = {"search_cache_dir"}},
      {.name = "memory_limit", .fallback = 0, .help = "bytes (default: half of the machine's)", .low = 0},
      {.name = "study_name", .fallback = "AutoSearch", .help = "name of the study in its database"},
      {.name = "study_storage_db", .fallback = "auto_search.db", .help = "file in output_dir, or sqlite:///…"},
      {.name = "load_study_if_exists", .fallback = false, .help = "continue a study that exists"},
      {.name = "enqueue", .fallback = Json::array(), .help = "configurations tried first"},
      {.name = "keep_models", .fallback = "best", .help = "which models stay", .choices = {"best", "candidates", "all"}},
      {.name = "plot_results", .fallback = false, .help = "the report's plots as files of their own, .html and .svg"},
      {.name = "expected_time_per_config", .fallback = 0.0, .help = "seconds, for the estimate of --dry-run", .low = 0},
      {.name = "trial_time_limit", .fallback = 0.0, .help = "seconds; a trial past it fails (0: none)", .low = 0},
  };
}

}  // namespace

const std::vector<OptionSpec>& job_keys() {
  static const std::vector<OptionSpec> all = [] {
    std::vector<OptionSpec> keys = own_keys();
    for (auto& key : tuning_key_specs()) keys.push_back(std::move(key));
    return keys;
  }();
  return all;
}

namespace {

// What the sampler and the strategy of this name will be in a later version.
const std::vector<std::string> later_samplers{"PartialFixed"};
const std::vector<std::string> later_strategies{"sigopt"};

// The sampler by name, or as {name: …, option: value}: options are checked here, before anything runs.
void read_sampler(Job& job, const Json& words) {
  Json options = words.is_object() ? words : Json{{"name", words}};
  const Json name = options.value("name", Json());
  if (!name.is_string()) throw Error("search_algo is " + words.dump() + ", but must be a name or {name: ..., option: value}");
  options.erase("name");
  job.search_algo = search::samplers::table().resolve(name.get<std::string>(), later_samplers);
  search::samplers::table().make(job.search_algo, options);
  job.sampler_options = options;
}

// A name in search_spaces stands for the space of that preset.
Json named_space(const Json& name) {
  const Json words = presets::table().make(name.get<std::string>())->words();
  return words.value("search_space", Json::object());
}

void read_spaces_key(Job& job, const Options& keys, const Strategy& strategy) {
  const Json several = keys.json("search_spaces");
  if (!several.is_null()) {
    if (keys.has("search_space")) throw Error("search_space and search_spaces are given; keep one of them");
    if (!several.is_array() || several.empty())
      throw Error("search_spaces must be a list of search spaces, not " + several.dump());
    for (const Json& space : several) job.spaces.push_back(space);
  } else {
    job.spaces.push_back(keys.has("search_space") ? keys.json("search_space") : strategy.default_space(job.target));
  }
  if (job.spaces[0].is_null())
    throw Error("search_space is required: write one, or name a preset (" + joined(presets::table().names()) + ")");
  for (Json& space : job.spaces) {
    if (!space.is_object()) throw Error("search_space must be a mapping, not " + space.dump());
    if (keys.has("calibration_sampling_size")) {
      const Json sizes = keys.json("calibration_sampling_size");
      space["CalibDataSize"] = sizes.is_array() ? sizes : Json::array({sizes});
    }
    for (auto& note : quant::notes_on_inert_options(space)) {
      if (std::ranges::find(job.warnings, note) == job.warnings.end()) job.warnings.push_back(std::move(note));
    }
  }
}

std::string strategy_of(const Options& keys, const TuningKeys& tuning) {
  const bool has_space = keys.has("search_space") || keys.has("search_spaces");
  std::string name = keys.has("accuracy_criterion") && !has_space ? "repair" : "flat";
  if (!tuning.strategy.empty()) name = tuning.strategy;
  if (keys.flag("two_stage_search")) name = "two_stage";
  if (keys.has("strategy")) name = keys.text("strategy");
  return strategies::table().resolve(name, later_strategies);
}

// Without fine-tuning there is one stage only.
void check_stages(Job& job) {
  if (job.strategy != "two_stage" || std::ranges::any_of(job.spaces, has_fine_tuning)) return;
  job.strategy = "flat";
  job.warnings.push_back("two_stage_search: the space has no fine-tuning part, so this is a flat search");
}

// Recipes that the user decides are single choices of the search space.
void fix_recipes(Json& space, const Json& recipes) {
  if (!recipes.is_object()) throw Error("recipes must be a mapping, not " + recipes.dump());
  Json rest = Json::object();
  for (const auto& [name, value] : recipes.items()) {
    if (name == "smooth_quant") {
      space["include_sq"] = Json::array({value});
    } else if (name == "smooth_quant_args") {
      for (const auto& [option, given] : value.items()) {
        if (option != "alpha") throw Error("unknown key 'recipes.smooth_quant_args." + option + "'; known: alpha");
        if (given == "auto") throw Error("recipes.smooth_quant_args.alpha: 'auto' is not yet supported; give a number or a list");
        space["SmoothAlpha"] = given.is_array() ? given : Json::array({given});
      }
    } else {
      rest[name] = value;
    }
  }
  quant::recipes_off(rest);
  for (const auto& [name, value] : rest.items()) space[name] = Json::array({value});
}

const OptionSpec* find_key(const std::string& name) {
  for (const auto& spec : job_keys()) {
    if (normalized(spec.name) == normalized(name)) return &spec;
    for (const auto& alias : spec.aliases) {
      if (normalized(alias) == normalized(name)) return &spec;
    }
  }
  return nullptr;
}

}  // namespace

Json canonical_keys(const Json& words) {
  Json out = Json::object();
  for (const auto& [name, value] : words.items()) {
    const OptionSpec* spec = find_key(name);
    const std::string& key = spec == nullptr ? name : spec->name;
    if (out.contains(key)) throw Error("key '" + key + "' is given twice (as '" + name + "' too)");
    out[key] = value;
  }
  return out;
}

namespace {

// The exit policy holds for every strategy; what would have no effect is an error.
void apply_tuning_keys(Job& job, const Options& keys) {
  if (job.tuning.given && !job.criterion)
    throw Error("tuning_criterion, quant_level, op_type_dict and op_name_dict need accuracy_criterion: the goal to reach");
  if (keys.has("quant_level") && keys.has("strategy"))
    throw Error("quant_level and strategy both name a strategy; keep one of them");
  if (!job.spaces.front().empty() && (keys.has("op_type_dict") || keys.has("op_name_dict"))) {
    throw Error("op_type_dict and op_name_dict narrow the space that tuning strategies make (basic, mse, auto ...); strategy " +
                job.strategy + " has a space of its own");
  }
  if (!keys.has("tuning_criterion")) return;
  const Json kwargs = keys.json("tuning_criterion").value("strategy_kwargs", Json::object());
  for (const auto& [name, value] : kwargs.items()) {
    const std::string owner = name == "confidence_batches" ? "mse_v2" : name == "hawq_v2_loss" ? "hawq_v2" : "sigopt";
    if (owner != job.strategy)
      throw Error("strategy_kwargs." + name + " is for strategy " + owner + "; it has no effect on " + job.strategy);
  }
  if (job.n_trials == 0) job.n_trials = job.tuning.max_trials;
  if (job.tuning.timeout == 0) return;
  if (job.stop.is_null()) job.stop = Json::object();
  job.stop["time_limit"] = job.tuning.timeout;
}

}  // namespace

Job parse_job(const Json& given, const fs::path& base) {
  if (!given.is_object()) throw Error("a configuration must be a mapping, not " + given.dump());
  Json words = with_preset(canonical_keys(given));
  if (words.contains("search_spaces") && words["search_spaces"].is_array()) {
    for (Json& space : words["search_spaces"]) space = space.is_string() ? named_space(space) : space;
  }
  Job job;
  job.words = words;
  JobTranslation v1 = job_from_v1(words);
  words = std::move(v1.words);
  job.translated = v1.translated;
  job.warnings = std::move(v1.notes);
  refuse_later_keys(words);
  const Options keys(job_keys(), words, "configuration");
  job.base = base;
  if (keys.text("model_input").empty()) throw Error("model_input is required: the path of the float ONNX model");
  job.model = from(base, keys.text("model_input"));
  read_data_keys(job, keys);
  job.target = quant::targets::table().resolve(keys.text("target"));
  job.tuning = parse_tuning_keys(keys);
  job.strategy = strategy_of(keys, job.tuning);
  const auto strategy = strategies::table().make(job.strategy);
  read_spaces_key(job, keys, *strategy);
  if (keys.has("recipes") && !job.spaces[0].empty()) {  // otherwise the strategy makes its own space, recipes and all
    for (Json& space : job.spaces) fix_recipes(space, keys.json("recipes"));
  }
  check_stages(job);
  read_sampler(job, keys.has("search_algo") ? keys.json("search_algo") : Json("TPE"));
  if (keys.has("warm_start")) {
    if (!keys.json("warm_start").is_string())
      throw Error("warm_start is " + keys.json("warm_start").dump() + ", but must be a path");
    job.warm_start = keys.json("warm_start").get<std::string>();
  }
  read_goals(job, keys);
  for (const auto& metric : strategy->metrics()) {
    if (std::find(job.metrics.begin(), job.metrics.end(), metric) == job.metrics.end()) job.metrics.push_back(metric);
  }
  if (keys.has("accuracy_criterion")) {
    if (job.goals.objectives.size() > 1 || is_cost(job.goals.objectives.front().metric) || !job.goals.constraints.empty())
      throw Error("accuracy_criterion is for one metric; with 'objectives' or 'constraints' write {metric: …, max_drop: …}");
    job.criterion = parse_criterion(keys.json("accuracy_criterion"), job.metrics.front());
  }
  job.tolerance = keys.json("search_metric_tolerance");
  if (!job.tolerance.is_null() && !job.tolerance.is_number())
    throw Error("search_metric_tolerance is " + job.tolerance.dump() + ", but must be a number");
  if (!job.tolerance.is_null() && is_cost(job.goals.objectives.front().metric))
    throw Error("search_metric_tolerance compares with the float model, but the first objective is " +
                job.goals.objectives.front().metric + "; put a metric first, or write constraints");
  job.stop = keys.json("search_stop_condition");
  job.pruner = pruner_of(keys.json("pruner"));
  job.n_trials = keys.integer("n_trials");
  apply_tuning_keys(job, keys);
  job.n_jobs = keys.integer("n_jobs");
  job.seed = static_cast<uint64_t>(keys.integer("seed"));
  job.expected_seconds = keys.real("expected_time_per_config");
  job.trial_time_limit = keys.real("trial_time_limit");
  job.output_dir = from(base, keys.text("output_dir"));
  job.temp_dir = keys.text("temp_dir").empty() ? job.output_dir / "tmp" : from(base, keys.text("temp_dir"));
  job.study_name = keys.text("study_name");
  job.storage = keys.text("study_storage_db");
  job.load_if_exists = keys.flag("load_study_if_exists");
  for (const auto& configuration : keys.json("enqueue")) job.enqueue.push_back(configuration);
  job.keep_models = keys.text("keep_models");
  job.plot_results = keys.flag("plot_results");
  job.memory_limit = keys.integer("memory_limit") > 0 ? static_cast<size_t>(keys.integer("memory_limit")) : half_of_memory();
  return job;
}

void set_key(Json& words, const std::string& given, const Json& value) {
  const size_t first = given.find('.');
  const OptionSpec* known = find_key(given.substr(0, first));  // by any of its names
  const std::string path = known == nullptr ? given : known->name + (first == std::string::npos ? "" : given.substr(first));
  Json* place = &words;
  size_t start = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', start)) {
    place = &(*place)[path.substr(start, dot - start)];
    if (!place->is_object() && !place->is_null())
      throw Error("--set " + path + ": '" + path.substr(0, dot) + "' is not a mapping");
    start = dot + 1;
  }
  if (start >= path.size()) throw Error("--set '" + path + "': the key is empty");
  (*place)[path.substr(start)] = value;
}

Json read_words(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".json") return parse_json(read_file(file), file.string());
  if (extension == ".yaml" || extension == ".yml") return read_yaml(file);
  throw Error(file.string() + ": a configuration is a .yaml, .yml or .json file");
}

}  // namespace quasar::tune
