// What the user asked for: the keys of the configuration file, checked, with defaults.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/job/budget.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/tuning_keys.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/search/heartbeat_options.hpp"

namespace quasar::tune {

// Where samples come from: descriptions of readers, null: none.
struct SampleKeys {
  Json calibration, evaluation, holdout;
  Json data, split;  // one reader and how to split it; null: the three above
};

// A sampler or pruner by its name in its table.
struct Named {
  std::string name;
  Json options = Json::object();
};

// When the search ends, and what a trial may take.
struct Limits {
  Json stop = Json::object();   // search_stop_condition, and timeout as a time_limit, under the names of search::stop::table()
  double whole_time = 0;        // the user's time_limit, of which `stop` has the first share; 0: `stop` has all of it
  int64_t n_trials = 0;         // 0: not given
  ExitPolicy exit;              // of a search for an accuracy goal
  bool whole_space = false;     // without a number of trials the sampler tries the whole space
  double expected_seconds = 0;  // expected_time_per_config; 0: not given
  double trial_time = 0;        // seconds; 0: none
  size_t trial_memory = 0;      // bytes; 0: none
  size_t memory = 0;            // bytes
  bool one_model = true;        // a search whose time is up before any model is there makes one all the same
};

// Where the study is kept, and how processes share it.
struct StudyKeys {
  std::string name, storage;
  std::filesystem::path folder = {};        // output_dir: where a database that is named by a relative path lies
  search::HeartbeatOptions heartbeat = {};  // of a storage that several processes share
  uint64_t files_limit = 0;                 // bytes of model and samples that a shared study keeps; 0: none
  bool load_if_exists = false;
  std::string predecessor = {};  // the study before this one, whose search had other choices (continuation.hpp); "": none
};

// An earlier search whose trials teach this one.
struct WarmStart {
  std::string place;  // folder, database file or URL; "": none
  std::string study;  // which one there; "": see past_study()
};

struct OutputKeys {
  std::filesystem::path dir, temp_dir;
  std::filesystem::path statistics_dir = {};  // through which processes share statistics; empty: each observes by itself
  std::string keep_models = {};
  bool plot_results = false;
};

struct Job {
  Json words = Json::object();                            // as given (after preset and --set), for the study and best_config.yaml
  std::filesystem::path base;                             // relative paths start here
  std::filesystem::path model;                            // of a pipeline: where the joined one is written
  std::vector<std::filesystem::path> models = {};         // of a pipeline: the files of its models; none: `model` is a file
  std::shared_ptr<const graph::Model> joined = {};        // these models as one; null: `model` is a file
  std::vector<std::filesystem::path> operator_libraries;  // custom_op_library
  std::string target;
  SampleKeys samples;
  Aim aim;
  std::string strategy;
  std::vector<Json> spaces;   // what may vary, hierarchical: one or several in order
  bool translated = false;    // the spaces were given in v1's form
  std::vector<Json> enqueue;  // configurations tried first, as words
  WarmStart warm_start;
  Named sampler, pruner;
  TuningKeys tuning;
  Limits limits;
  std::optional<double> speed_gate;  // nullopt: off
  std::optional<Budget> budget;      // whose bounds are among aim.goals.constraints; nullopt: none is given
  int64_t n_jobs = 1;
  std::vector<runtime::Device> devices = {runtime::Device()};  // that candidates are scored on, in turn
  uint64_t seed = 0;
  StudyKeys study;
  OutputKeys output;
  std::vector<std::string> warnings;  // what the user should know before the search starts
};

// The specification of every key: name, default, meaning. `quasar list`, help and messages follow from it.
const std::vector<OptionSpec>& job_keys();

// Where a study is kept, as search::open_storage() takes it.
std::string storage_url(const StudyKeys& study);

// The words with every top-level key by its own name (spelling and aliases do not count), for presets, --set and parse_job.
// Throws Error for a key given twice; unknown ones stay as they are.
Json canonical_keys(const Json& words);

// Replaces one key by its dotted path: ("search_space.weight_params.symmetric", [true]). Relative paths in the value start from
// `folder`, whatever file the other words come from.
void set_key(Json& words, const std::string& path, const Json& value, const std::filesystem::path& folder);

// Reads a configuration file (.yaml, .yml or .json).
Json read_words(const std::filesystem::path& file);

}  // namespace quasar::tune
