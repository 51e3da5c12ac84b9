#include "quasar/tune/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "quasar/base/file.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/tune/preset.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// A key of the contract that a later version brings, and the value that means "off".
struct LaterKey {
  std::string name;
  Json off;
};

const std::vector<LaterKey>& later_keys() {
  static const std::vector<LaterKey> all{{"search_spaces", nullptr},
                                         {"objectives", nullptr},
                                         {"constraints", nullptr},
                                         {"pruner", "none"},
                                         {"approach", "static"},
                                         {"warm_start", nullptr},
                                         {"plot_results", false},
                                         {"advanced_fastft_search", false},
                                         {"advanced_fastft_params", nullptr},
                                         {"custom_op_library", nullptr}};
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
      {.name = "strategy",
       .fallback = nullptr,
       .help = "who decides what is tried next (flat; repair with accuracy_criterion and no search_space)"},
      {.name = "two_stage_search", .fallback = false, .help = "calibration first, then fine-tuning"},
      {.name = "search_algo", .fallback = "TPE", .help = "sampler; see `quasar list samplers`", .aliases = {"sampler"}},
      {.name = "search_metric", .fallback = nullptr, .help = "name or list: the first is the objective (default L2)"},
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
const std::vector<std::string> later_samplers{"CmaEs", "GPS", "NSGAII", "QMC", "PartialFixed"};
const std::vector<std::string> later_strategies{"two_stage", "sigopt"};
const std::vector<std::string> later_targets{"ort_cuda", "xint8"};

// Fine-tuning stages are a later version's; a space without fine-tuning is searched flat in any version.
void check_stages(Job& job) {
  for (const auto& [name, choices] : job.search_space.items()) {
    if (normalized(name) != "algorithms") continue;
    for (const auto& choice : choices.is_array() ? choices : Json::array({choices})) {
      if (!choice.is_null())
        throw Error("two_stage_search is not yet supported; without it, algorithms are searched with everything else");
    }
  }
  job.warnings.push_back("two_stage_search: the space has no fine-tuning part, so this is a flat search");
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

// Of jobs that do not name one.
std::string usual_strategy(const Options& keys, const TuningKeys& tuning) {
  if (!tuning.strategy.empty()) return tuning.strategy;
  return keys.has("accuracy_criterion") && !keys.has("search_space") ? "repair" : "flat";
}

}  // namespace

Job parse_job(const Json& given, const fs::path& base) {
  if (!given.is_object()) throw Error("a configuration must be a mapping, not " + given.dump());
  Json words = with_preset(canonical_keys(given));
  Job job;
  job.words = words;
  refuse_later_keys(words);
  const Options keys(job_keys(), words, "configuration");
  job.base = base;
  if (keys.text("model_input").empty()) throw Error("model_input is required: the path of the float ONNX model");
  job.model = from(base, keys.text("model_input"));
  read_data_keys(job, keys);
  job.tuning = parse_tuning_keys(keys);
  job.strategy = strategies::table().resolve(keys.has("strategy") ? keys.text("strategy") : usual_strategy(keys, job.tuning),
                                             later_strategies);
  const auto strategy = strategies::table().make(job.strategy);
  job.target = quant::targets::table().resolve(keys.text("target"), later_targets);
  job.search_space = keys.has("search_space") ? keys.json("search_space") : strategy->default_space(job.target);
  if (job.search_space.is_null()) {
    throw Error("search_space is required: write one, or name a preset (" + joined(presets::table().names()) + ")");
  }
  if (!job.search_space.is_object()) throw Error("search_space must be a mapping, not " + job.search_space.dump());
  if (keys.has("calibration_sampling_size")) {
    const Json sizes = keys.json("calibration_sampling_size");
    job.search_space["CalibDataSize"] = sizes.is_array() ? sizes : Json::array({sizes});
  }
  for (auto& note : quant::notes_on_inert_options(job.search_space)) job.warnings.push_back(std::move(note));
  if (keys.flag("two_stage_search")) {
    check_stages(job);
  }
  job.search_algo = search::samplers::table().resolve(keys.text("search_algo"), later_samplers);
  job.metrics = metric_names(keys);
  check_direction(keys, job.metrics.front());
  for (const auto& metric : strategy->metrics()) {
    if (std::find(job.metrics.begin(), job.metrics.end(), metric) == job.metrics.end()) job.metrics.push_back(metric);
  }
  if (keys.has("accuracy_criterion")) job.criterion = parse_criterion(keys.json("accuracy_criterion"), job.metrics.front());
  job.tolerance = keys.json("search_metric_tolerance");
  if (!job.tolerance.is_null() && !job.tolerance.is_number())
    throw Error("search_metric_tolerance is " + job.tolerance.dump() + ", but must be a number");
  job.stop = keys.json("search_stop_condition");
  job.n_trials = keys.integer("n_trials");
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
  job.memory_limit = keys.integer("memory_limit") > 0 ? static_cast<size_t>(keys.integer("memory_limit")) : half_of_memory();
  return job;
}

void set_key(Json& words, const std::string& path, const Json& value) {
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
