// Model and samples that a shared study keeps, for workers on machines that have nothing but its address. Each key of the
// configuration that names such files (model_input, calib_data_reader, eval_data_reader, data_reader) is kept whole, or not at
// all.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/job/job.hpp"
#include "quasar/search/study.hpp"

namespace quasar::tune {

// The leader's part, before workers may join: what fits into the job's study_files_limit goes into the study's storage, the model
// first. What is not kept, and why, stands in the study and in the log; a storage that takes no files is a warning. Throws
// Cancelled.
void keep_files(search::Study& study, search::Storage& storage, const Job& job, const Log& log);

// Keys whose files the leader would leave out, as they have more bytes than study_files_limit, each with what it has:
// "model_input (312 MB)". Files that are not here are passed over.
std::vector<std::string> files_beyond_limit(const Job& job);

// Where a worker looks for the files of a study.
struct KeptFilesWanted {
  std::set<std::string> given;   // keys for which the worker has files of its own
  std::filesystem::path base;    // where relative paths of the study's words start
  std::filesystem::path folder;  // into which files are fetched
};

// The study's words (its `job` attribute) with paths to fetched files, for those keys whose files are not here, byte by byte, but
// in the study. Throws Error for files that are damaged or do not fit into the folder, and for names that lead out of it; and
// Cancelled.
Json with_kept_files(Json words, const search::StudyRecord& study, search::FileStore& store, const KeptFilesWanted& wanted,
                     const Log& log);

// Why the study does not keep the files of this key, in words that end a message; "": it does, or nobody knows.
std::string why_not_kept(const Json& study_attributes, const std::string& key);

}  // namespace quasar::tune
