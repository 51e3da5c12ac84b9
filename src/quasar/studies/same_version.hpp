// Two versions of Quasar may make different models of one trial: a search and its workers are of one version.
#pragma once

#include <string>

#include "quasar/search/storage.hpp"

namespace quasar::tune {

// Throws Error, which says what to install, where the leader of the study's search is of another version than this process.
void expect_same_version(const search::StudyRecord& study);

// What to say where the study's trials are of another Quasar or ONNX Runtime than this process and its `onnxruntime`; "": they
// are not.
std::string other_version(const search::StudyRecord& study, const std::string& onnxruntime);

}  // namespace quasar::tune
