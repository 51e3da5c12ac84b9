// The table of a configuration's keys, and what is done with their names.
#include <algorithm>

#include "quasar/base/file.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/job/job_parts.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/job/v1_names.hpp"
#include "quasar/quant/config/config_keys.hpp"
#include "quasar/quant/config/option_keys.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/search/misspelt.hpp"
#include "quasar/search/stop.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

std::vector<OptionSpec> own_keys() {
  return {
      {.name = "model_input", .fallback = "", .help = "the float ONNX model", .local = true},
      {.name = "models",
       .fallback = nullptr,
       .help =
           "in place of model_input, models that run one after the other: {encoder: {path: FILE}, decoder: {path: FILE, inputs: "
           "{INPUT: encoder.OUTPUT}}}",
       .local = true},
      {.name = "custom_op_library",
       .fallback = nullptr,
       .help = "a shared library with operators that ONNX Runtime does not have, or a list of them",
       .local = true},
      {.name = "base_framework", .fallback = "onnx", .help = "always onnx", .choices = {"onnx"}},
      {.name = "calib_data_reader", .fallback = nullptr, .help = "samples that ranges are taken from", .local = true},
      {.name = "eval_data_reader", .fallback = nullptr, .help = "samples that candidates are scored on", .local = true},
      {.name = "holdout_data_reader",
       .fallback = nullptr,
       .help = "samples that only the winner and the float model are scored on",
       .local = true},
      {.name = "data_reader", .fallback = nullptr, .help = "one source for all, cut by split", .local = true},
      {.name = "split", .fallback = nullptr, .help = "{calibration: 100, evaluation: 300, holdout: rest, seed: 0}"},
      {.name = "preset",
       .fallback = nullptr,
       .help = "fills the keys that are left out; see `quasar list presets`",
       .local = true},
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
       .help = "an earlier search's output folder or database: its trials teach the sampler",
       .local = true},
      {.name = "warm_start_study", .fallback = "", .help = "which study of warm_start, where it holds several", .local = true},
      {.name = "strategy",
       .fallback = nullptr,
       .help = "who decides what is tried next (flat; budget with budget; repair with accuracy_criterion and no search_space)"},
      {.name = "two_stage_search", .fallback = false, .help = "calibration first, then fine-tuning"},
      {.name = "search_algo",
       .fallback = nullptr,
       .help = "sampler (default TPE), or {name: Random, uniform: true} with its options; see `quasar list samplers`",
       .aliases = {"sampler"}},
      {.name = "search_metric",
       .fallback = nullptr,
       .help = "name, {name: topk, k: 3}, or a list: the first is the objective (default parts)"},
      {.name = "decoder",
       .fallback = nullptr,
       .help = "what turns a detector's outputs into boxes: a name, or {name: yolov5, score_threshold: 0.1}; see `quasar list "
               "decoders`"},
      {.name = "output_weights",
       .fallback = nullptr,
       .help = "{output: factor}: what distances at several outputs count; 0 leaves one out"},
      {.name = "objectives",
       .fallback = nullptr,
       .help = "[{metric: top1}, {metric: latency}]; metrics, bytes, latency (ms), relative_latency (times float), peak_memory "
               "(bytes)"},
      {.name = "constraints",
       .fallback = nullptr,
       .help = "[{metric: top1, max_drop: 0.01}]; bounds max_drop, max, min; options of the metric beside it"},
      {.name = "search_evaluator",
       .fallback = nullptr,
       .help =
           "{command: [...]}, {python: FILE:FUNCTION} or {library: FILE}, or the name of a metric; see `quasar list evaluators`"},
      {.name = "direction", .fallback = nullptr, .help = "minimize or maximize; the metric's own when left out"},
      {.name = "search_metric_tolerance",
       .fallback = nullptr,
       .help = "a trial not worse than float by more than this is a candidate"},
      {.name = "least_agreement",
       .fallback = 0.9,
       .help = "a result is poor when fewer answers are the float model's, of samples on which that is sure; 0: answers and "
               "labels are "
               "not judged",
       .low = 0,
       .high = 1},
      {.name = "speed_gate",
       .fallback = nullptr,
       .help =
           "a factor of 1 and more, such as 1.02: operators with which the quantized model takes more than this many times as "
           "long stay in float; measured once, on target ort_cpu (default off; 1.02 in preset cpu_int8_search and in strategy "
           "repair on its own space)"},
      {.name = "budget",
       .fallback = nullptr,
       .help =
           "{bytes: 0.3, latency: 4 ms}: what the model may cost, as shares of float's or absolute; strategy budget looks for "
           "the best one within it"},
      {.name = "accuracy_criterion",
       .fallback = nullptr,
       .help = "{criterion: relative | absolute, tolerable_loss: 0.01, higher_is_better, metrics: {top1: 2, F1: 1}}: how much "
               "may be lost"},
      {.name = "search_stop_condition",
       .fallback = Json::object(),
       .help =
           "{n_trials, find_n_candidates, find_best_candidate, iteration_limit, time_limit, patience}; see `quasar list stop`"},
      {.name = "n_trials", .fallback = 0, .help = "trials in all; 0, as left out: 20, and with Grid the whole space", .low = 0},
      {.name = "pruner",
       .fallback = nullptr,
       .help = "when a trial is given up early: a name (default confidence), or {name: confidence, alpha: 0.01}; see `quasar "
               "list pruners`"},
      {.name = "n_jobs", .fallback = 1, .help = "trials at the same time", .low = 1, .high = 1024, .local = true},
      {.name = "search_devices",
       .fallback = nullptr,
       .help = "where candidates are scored: cpu (default), or \"cuda:0,1\", in turn; a list of both forms too",
       .local = true},
      {.name = "seed", .fallback = 0, .help = "of everything random", .low = 0},
      {.name = "target",
       .fallback = nullptr,
       .help = "what the model must run on: ort_cpu, or xint8 where all types of the space are XInt8Spec (default)"},
      {.name = "runtime",
       .fallback = nullptr,
       .help = "what candidates are scored and timed in: onnxruntime, openvino or qnn_htp (default: the target's own, if it is "
               "here)"},
      {.name = "calibration_sampling_size",
       .fallback = nullptr,
       .help = "number of calibration samples, or a list to search over",
       .aliases = {"CalibDataSize"}},
      {.name = "saturation",
       .fallback = nullptr,
       .help = "what is done about sums of 16 bits (docs/processors.md), for every space and strategy: avoid, raise_scales, "
               "reduce_range, unsigned or ignore; the target's own when left out"},
      {.name = "output_dir",
       .fallback = "./quasar_out",
       .help = "where results go",
       .aliases = {"search_output_dir"},
       .local = true},
      {.name = "search_log_path",
       .fallback = nullptr,
       .help = "v1: accepted; the log is auto_search.log in output_dir, as Auto Search's own is",
       .local = true},
      {.name = "temp_dir",
       .fallback = "",
       .help = "for float outputs beyond the memory limit (default output_dir/tmp), and for models that search_evaluator scores "
               "(default: the system's folder)",
       .aliases = {"search_cache_dir"},
       .local = true},
      {.name = "memory_limit", .fallback = 0, .help = "bytes (default: half of the machine's)", .low = 0, .local = true},
      {.name = "enqueue",
       .fallback = Json::array(),
       .help = "configurations tried first; what they leave out is the first choice"},
      {.name = "keep_models",
       .fallback = "best",
       .help = "which models stay",
       .choices = {"best", "candidates", "all"},
       .local = true},
      {.name = "plot_results",
       .fallback = false,
       .help = "the report's plots as files of their own, .html and .svg",
       .local = true},
      {.name = "expected_time_per_config",
       .fallback = 0.0,
       .help = "seconds, for the estimate of --dry-run",
       .low = 0,
       .local = true},
      {.name = "trial_time_limit", .fallback = 0.0, .help = "seconds; a trial past it fails (0: none)", .low = 0},
      {.name = "trial_memory_limit",
       .fallback = 0,
       .help = "bytes that one trial may take; a trial that needs more fails (0: none)",
       .low = 0,
       .local = true},
  };
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

// Where keys of nested mappings belong: {key, place}. The values of a preset or of parse_job's parts say the same.
const std::vector<std::pair<std::string, std::string>>& nested_keys() {
  static const std::vector<std::pair<std::string, std::string>> all = [] {
    std::vector<std::pair<std::string, std::string>> keys;
    const auto add = [&](const std::string& place, const std::vector<std::string>& names) {
      for (const auto& name : names) keys.emplace_back(name, place);
    };
    for (const auto& name : search::stop::table().names()) {
      if (find_key(name) == nullptr) keys.emplace_back(name, "search_stop_condition");
    }
    add("accuracy_criterion", {"criterion", "tolerable_loss", "higher_is_better", "metrics"});
    add("tuning_criterion", {"timeout", "max_trials", "strategy_kwargs"});
    add("tuning_criterion.strategy_kwargs",
        {"confidence_batches", "hawq_v2_loss", secret_keyword, "sigopt_project_id", "sigopt_experiment_name"});
    add("split", {"calibration", "evaluation", "holdout"});
    add("advanced_fastft_params", {"sampler_algo"});
    add("search_space.activation_params or search_space.weight_params",
        {"symmetric", "scale_type", "calibration_method", "quant_granularity"});
    add("search_space.adaround_params or search_space.adaquant_params",
        {"num_iterations", "learning_rate", "NumIterLR", "data_size", "early_stop", "damping"});
    add("search_space", {"activation", "weight", "activation_params", "weight_params"});
    add("search_space", quant::rounding_keys());
    add("search_space", v1::own_keys());
    for (const auto& name : quant::option_keys()) {
      if (find_key(name) == nullptr) keys.emplace_back(name, "search_space");
    }
    for (const auto& name : quant::config_keys()) {
      const auto same = [&](const auto& entry) { return entry.first == name; };
      if (find_key(name) == nullptr && std::ranges::none_of(keys, same)) keys.emplace_back(name, "search_space");
    }
    return keys;
  }();
  return all;
}

}  // namespace

const std::vector<OptionSpec>& job_keys() {
  static const std::vector<OptionSpec> all = [] {
    std::vector<OptionSpec> keys = own_keys();
    for (auto& key : storage_key_specs()) keys.push_back(std::move(key));
    for (auto& key : tuning_key_specs()) keys.push_back(std::move(key));
    return keys;
  }();
  return all;
}

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

// Keys of other tools for what has another form here.
const std::map<std::string, std::string>& foreign_keys() {
  static const std::string in_float =
      "what stays in float is said by op_name_dict: {NAME: {activation: {dtype: [fp32]}}} for a tuning strategy, "
      "and by search_space: {NodesToExclude: [NAME]} for a search space";
  static const std::map<std::string, std::string> all{
      {"excludedopnames", in_float},
      {"excludedoptypes", "what stays in float is said by op_type_dict: {TYPE: {activation: {dtype: [fp32]}}}"},
      {"ignoredscope", in_float},
      {"excludedprecisions", "types to fall back to are said by op_type_dict: {TYPE: {activation: {dtype: [int8, fp32]}}}"},
      {"backend", "where the model runs is said by target"},
      {"device", "where the model runs is said by target, and where it is scored by search_devices"},
      {"evalfunc", "a score of your own is search_evaluator"},
      {"evalmetric", "the score is search_metric"}};
  return all;
}

}  // namespace

void check_places(const Json& words) {
  std::vector<std::string> names;
  for (const auto& spec : job_keys()) names.push_back(spec.name);
  for (const auto& [name, place] : nested_keys()) names.push_back(name);
  for (const auto& [name, value] : words.items()) {
    if (find_key(name) != nullptr) continue;
    if (const auto foreign = foreign_keys().find(normalized(name)); foreign != foreign_keys().end())
      throw Error("configuration: unknown option '" + name + "'; " + foreign->second);
    if (const std::string hint = quant::hint_of_foreign_key(name); !hint.empty())
      throw Error("configuration: unknown option '" + name + "' (of a search space or a configuration?)" + hint);
    const std::string near = nearest(name, names);
    const auto found = std::ranges::find_if(nested_keys(), [&](const auto& entry) { return entry.first == near; });
    if (found == nested_keys().end()) continue;  // a message of its own follows
    const std::string start = "configuration: unknown option '" + name + "'";
    if (normalized(near) == normalized(name)) throw Error(start + "; it belongs into " + found->second);
    throw Error(start + "; did you mean '" + near + "', which belongs into " + found->second + "?");
  }
}

void check_nested(const std::string& place, const Json& words, const std::vector<std::string>& known) {
  if (!words.is_object()) return;
  for (const auto& [name, value] : words.items()) {
    const auto same = [&](const std::string& other) { return normalized(other) == normalized(name); };
    const OptionSpec* key = find_key(name);
    if (key == nullptr || std::ranges::any_of(known, same)) continue;
    throw Error(place + ": '" + name + "' belongs to the top level of the configuration");
  }
}

namespace {

// A path as the command line means it; other words stay as they are.
Json rooted(const Json& value, const fs::path& folder) {
  if (!value.is_string() || value == "" || value.get<std::string>().find("://") != std::string::npos) return value;
  return fs::absolute(folder / value.get<std::string>()).lexically_normal().string();
}

// `labels` of a reader is an array's name or a file; class_names in a text is a file.
Json rooted_reader(Json value, const fs::path& folder) {
  if (value.is_string()) return value == "random" ? value : rooted(value, folder);
  if (!value.is_object()) return value;
  if (value.contains("path")) value["path"] = rooted(value["path"], folder);
  const Json labels = value.value("labels", Json());
  const std::string file = labels.is_string() ? labels.get<std::string>() : "";
  const auto is_here = [&](const Json& name) { return name.is_string() && fs::exists(folder / name.get<std::string>()); };
  // Else they may lie beside the samples.
  if ((file.ends_with(".csv") || file.ends_with(".json")) && is_here(labels)) value["labels"] = rooted(labels, folder);
  if (value.contains("class_names") && is_here(value["class_names"])) value["class_names"] = rooted(value["class_names"], folder);
  return value;
}

// By the key that the value is for: paths of readers, of the model, of folders.
bool is_reader(const std::string& key) {
  static const std::set<std::string> readers{"calib_data_reader", "eval_data_reader", "holdout_data_reader", "data_reader"};
  return readers.contains(key);
}

// What a reader's path alone stands for, so that a key can be added; a file with a reader of its own stays.
Json in_full(const Json& reader) {
  if (!reader.is_string()) return reader;
  const std::string text = reader.get<std::string>();
  const std::string extension = fs::path(text).extension().string();
  if (extension == ".yaml" || extension == ".yml" || extension == ".json") return reader;
  return {{text == "random" ? "reader" : "path", text}};
}

Json with_paths_from(const std::string& path, const Json& value, const fs::path& folder) {
  static const std::vector<std::string> files{"model_input",    "output_dir", "temp_dir",
                                              "statistics_dir", "warm_start", "custom_op_library"};
  const std::string key = path.substr(0, path.find('.'));
  if (key == "warm_start" && value.is_string()) search::refuse_misspelt(key, value.get<std::string>());
  if (std::ranges::find(files, key) != files.end()) {
    if (!value.is_array()) return rooted(value, folder);
    Json out = Json::array();
    for (const Json& one : value) out.push_back(rooted(one, folder));
    return out;
  }
  if (key == "models" && path == key) return with_rooted_models(value, folder);
  if (key == "models" && path.ends_with(".path")) return rooted(value, folder);
  if (!is_reader(key)) {
    return key == "study_storage_db" && value.is_string() ? Json(sqlite_from(folder, value.get<std::string>())) : value;
  }
  if (path == key) return rooted_reader(value, folder);
  return rooted_reader({{path.substr(key.size() + 1), value}}, folder).front();
}

}  // namespace

void set_key(Json& words, const std::string& given, const Json& value, const fs::path& folder) {
  const size_t first = given.find('.');
  const OptionSpec* known = find_key(given.substr(0, first));  // by any of its names
  const std::string path = known == nullptr ? given : known->name + (first == std::string::npos ? "" : given.substr(first));
  Json* place = &words;
  size_t start = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', start)) {
    place = &(*place)[path.substr(start, dot - start)];
    if (start == 0 && is_reader(path.substr(0, dot))) *place = in_full(*place);
    if (!place->is_object() && !place->is_null())
      throw Error("--set " + path + ": '" + path.substr(0, dot) + "' is " + place->dump() + ", not a mapping of keys");
    start = dot + 1;
  }
  if (start >= path.size()) throw Error("--set '" + path + "': the key is empty");
  const Json before = words.value("search_space", Json());
  (*place)[path.substr(start)] = with_paths_from(path, value, folder);
  if (before.is_object() && words["search_space"].is_object() && path.starts_with("search_space."))
    forget_unreachable(words["search_space"], before);
}

Json read_words(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".json") return parse_json(read_file(file), file.string());
  if (extension == ".yaml" || extension == ".yml") return read_yaml(file);
  throw Error(file.string() + ": a configuration is a .yaml, .yml or .json file");
}

}  // namespace quasar::tune
