#include "quasar/inspect/inputs.hpp"

#include <algorithm>
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/data/source_files.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/job/evaluator_files.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/tune/flips.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// What a search leaves in its folder and what reads it again: its study, its results, its pictures. Pages made of them are not.
bool is_of_a_search(const fs::path& file) {
  static constexpr std::array names{"result.json",      "best.onnx",        "best.onnx.data",
                                    "best_params.json", "best_config.yaml", "auto_search.log"};
  const std::string extension = file.extension().string();
  return extension.starts_with(".db") || file.parent_path().filename() == worst_samples ||
         std::ranges::find(names, file.filename().string()) != names.end();
}

void reads_database(OverwriteGuard& files, const std::string& address) {
  const std::string scheme = "sqlite:///";
  const std::string path = address.starts_with(scheme) ? address.substr(scheme.size()) : address;
  if (path.find("://") != std::string::npos || path == "memory") return;
  for (const char* beside : {"", "-wal", "-shm", "-lock"}) files.reads(path + beside, "the study");
}

}  // namespace

void reads_model(OverwriteGuard& files, const fs::path& given) {
  for (const fs::path& model : files_of_given(given)) {
    files.reads(model, "the float model");
    try {
      for (const auto& [location, file] : graph::external_files_of(model)) files.reads(file, "external data of the float model");
    } catch (const Error&) {  // load() says it
    }
  }
}

void writes_pieces(OverwriteGuard& files, const fs::path& model, const fs::path& output, const std::string& option) {
  for (const auto& file : piece_files_of_given(model)) files.writes(output.parent_path() / output.stem() / file, option);
}

void reads_samples(OverwriteGuard& files, const Json& description, const fs::path& base, const std::string& as) {
  for (const fs::path& place : data::places_of(description, base)) {
    std::error_code ignored;
    if (fs::is_directory(place, ignored)) {
      files.reads_in(place, "of " + as, data::is_named_as_a_sample);
    } else {
      files.reads(place, as);
    }
  }
}

void reads_study(OverwriteGuard& files, const std::string& place) {
  std::error_code ignored;
  if (place.empty()) return;
  if (fs::is_directory(place, ignored)) {
    files.reads_in(place, "of the search", is_of_a_search);
  } else {
    reads_database(files, place);
    const fs::path folder = fs::absolute(place).parent_path();
    if (fs::exists(folder / "result.json", ignored)) files.reads_in(folder, "of the search", is_of_a_search);
  }
}

void reads_samples_of(OverwriteGuard& files, const PastTrial& trial) {
  const Json samples = trial.study.is_object() ? trial.study.value(samples_attribute, Json()) : Json();
  const Json folder = samples.is_object() ? samples.value("folder", Json()) : Json();
  if (folder.is_string())
    reads_samples(files, samples.value("reader", Json()), folder.get<std::string>(), "the calibration data");
}

void reads_of(OverwriteGuard& files, const Job& job) {
  if (!job.joined) reads_model(files, job.model);
  for (const auto& model : job.models) reads_model(files, model);
  reads_samples(files, job.samples.calibration, job.base, "the calibration data");
  reads_samples(files, job.samples.evaluation, job.base, "the evaluation data");
  reads_samples(files, job.samples.holdout, job.base, "the hold-out data");
  reads_samples(files, job.samples.data, job.base, "the data");
  for (const auto& [name, file] : evaluator_files(job.words.value("search_evaluator", Json()), job.base))
    files.reads(file, "of search_evaluator");
  reads_database(files, storage_url(job.study));
  std::error_code ignored;
  if (fs::is_regular_file(job.base / job.warm_start.place, ignored))
    reads_database(files, (job.base / job.warm_start.place).string());
}

}  // namespace quasar::tune
