// The whole program: a job in, the best quantized model and the reasons out. The job is the mapping that a configuration file
// holds.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"
#include "quasar/search/run_options.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::api {

// Who watches a search, and who may stop it. All parts may be left out.
struct Monitor {
  Log log = {};                    // from several threads
  search::Listener listener = {};  // hears of every trial, one call at a time
  std::stop_token stop = {};       // requested: the search ends, and keeps what it has found
};

struct Found {
  Json result;                        // what result.json holds: status, baseline, best, trials, …
  std::string table;                  // the same for people, at most 80 columns wide
  std::vector<search::Trial> trials;  // by number
  std::filesystem::path output_dir;   // where best.onnx, result.json and report.html stand
  std::string storage;                // the study's, as search::open_storage() takes it
};

// Reads a configuration file (.yaml, .yml or .json). Throws Error that names the file and the place in it.
QUASAR_API Json read_job(const std::filesystem::path& file);

// Runs the search and writes its files. Relative paths of the job start from `base`. A failing trial is recorded, not thrown.
// Throws Error for what the user can mend: unknown keys (with the nearest valid one), values, models and samples that do not fit,
// an output_dir with a search that this job does not continue.
QUASAR_API Found search(const Json& job, const std::filesystem::path& base = ".", const Monitor& monitor = {});

// {space: {points}, trials, samples: {…}, expected_s: seconds}, without running anything but the loading. Throws Error like
// search().
QUASAR_API Json dry_run(const Json& job, const std::filesystem::path& base = ".");

// A report of the finished search in this output_dir: "html", "markdown" or "csv". `storage`: where the study is, if on a server.
// Throws Error where the folder holds no search.
QUASAR_API std::string report(const std::filesystem::path& output_dir, const std::string& format,
                              const std::string& storage = "");

}  // namespace quasar::api
