// What commands read, said to the value that keeps their outputs from it.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/files/overwrite_guard.hpp"
#include "quasar/base/json.hpp"
#include "quasar/job/job.hpp"
#include "quasar/studies/past_study.hpp"

namespace quasar::tune {

// The float model with its external data.
void reads_model(OverwriteGuard& files, const std::filesystem::path& model);

// Samples as data::open() takes them; null: none. `as`: "the calibration data".
void reads_samples(OverwriteGuard& files, const Json& description, const std::filesystem::path& base, const std::string& as);

// A study's database; the folder of a search with the study, its results and pictures. Addresses of servers are nothing.
void reads_study(OverwriteGuard& files, const std::string& place);

// The samples of the search whose trial is made again.
void reads_samples_of(OverwriteGuard& files, const PastTrial& trial);

// Everything that a search reads but for the file of its configuration: model, data, evaluator, its study and earlier ones.
void reads_of(OverwriteGuard& files, const Job& job);

// Where the models of a pipeline are written when `output` is: tune/pieces.hpp. Of a single model nothing.
void writes_pieces(OverwriteGuard& files, const std::filesystem::path& model, const std::filesystem::path& output,
                   const std::string& option);

}  // namespace quasar::tune
