// What the user asked for: the keys of the configuration file, checked, with defaults.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/job/accuracy.hpp"
#include "quasar/job/goals.hpp"
#include "quasar/job/tuning_keys.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/search/heartbeat_options.hpp"

namespace quasar::tune {

struct Job {
  Json words = Json::object();  // as given (after preset and --set), for the study and best_config.yaml
  std::filesystem::path base;   // relative paths start here
  std::filesystem::path model;
  Json calibration, evaluation, holdout;  // reader descriptions; null: none
  Json data, split;                       // one reader and how to split it; null: the three above
  std::vector<Json> spaces;               // what may vary, hierarchical: one or several in order
  bool translated = false;                // the spaces were given in v1's form
  std::string warm_start;                 // an earlier study: folder, database file or URL; "": none
  std::string warm_start_study;           // which one there; "": see past_study()
  Json sampler_options = Json::object();
  std::vector<Json> enqueue;  // configurations tried first, as words
  std::string strategy, search_algo, target;
  Goals goals;
  std::vector<std::string> metrics;                        // that candidates are scored on
  std::shared_ptr<const eval::CustomEvaluator> evaluator;  // gives goals.own; nullptr: built-in metrics only
  Json decoder, output_weights;                            // of the model's outputs, as given; null: none
  Json head_decoder;                                       // of a head that was recognized (with_head()); null: none
  Json tolerance;                                          // search_metric_tolerance; null: none
  std::optional<AccuracyCriterion> criterion;
  double least_agreement = 0.9;  // of answers with the float model's, below which a result is poor
  TuningKeys tuning;
  Json stop;             // search_stop_condition
  Json pruner;           // {name, options}
  int64_t n_trials = 0;  // 0: not given
  int64_t n_jobs = 1;
  std::vector<runtime::Device> devices = {runtime::Device()};  // that candidates are scored on, in turn
  uint64_t seed = 0;
  double expected_seconds = 0;    // expected_time_per_config; 0: not given
  double trial_time_limit = 0;    // seconds; 0: none
  size_t trial_memory_limit = 0;  // bytes; 0: none
  std::filesystem::path output_dir, temp_dir;
  std::filesystem::path statistics_dir;  // through which processes share statistics; empty: each observes by itself
  std::string study_name, storage;
  std::string predecessor;             // the study before this one, whose search had other choices (continuation.hpp); "": none
  search::HeartbeatOptions heartbeat;  // of a storage that several processes share
  bool load_if_exists = false;
  std::string keep_models;
  bool plot_results = false;
  size_t memory_limit = 0;            // bytes
  std::vector<std::string> warnings;  // what the user should know before the search starts
};

// Whether the criterion is a constraint of the study and not simply a bound on its objective: the objective is a cost, or the
// criterion is about several metrics or another one.
bool criterion_is_constraint(const Job& job);

// The specification of every key: name, default, meaning. `quasar list`, help and messages follow from it.
const std::vector<OptionSpec>& job_keys();

// Where the job's study is kept, as search::open_storage() takes it.
std::string storage_url(const Job& job);

// The words with every top-level key by its own name (spelling and aliases do not count), for presets, --set and parse_job.
// Throws Error for a key given twice; unknown ones stay as they are.
Json canonical_keys(const Json& words);

// Replaces one key by its dotted path: ("search_space.weight_params.symmetric", [true]). Relative paths in the value start from
// `folder`, whatever file the other words come from.
void set_key(Json& words, const std::string& path, const Json& value, const std::filesystem::path& folder);

// Reads a configuration file (.yaml, .yml or .json).
Json read_words(const std::filesystem::path& file);

}  // namespace quasar::tune
