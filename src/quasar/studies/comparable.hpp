// Whether the values of a study may stand beside those of a search.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/data/dataset.hpp"
#include "quasar/job/job.hpp"

namespace quasar::tune {

// What values depend on besides the configuration of a trial, by name; kept as attributes of the study: the model, the goals, the
// target, the samples and what is true of them, the user's evaluator, the weights of outputs, the decoder.
Json goal_of(const Job& job, const data::Splits& samples);

// Of a key of goal_of(): whether what stands there is a hash, which says nothing to a reader.
bool is_fingerprint(const std::string& key);
// Hashes of the .onnx file and of the files with its external data; of all samples.
std::string fingerprint(const std::filesystem::path& model);
std::string fingerprint(const data::Dataset& samples);

// Whether what a study knows under a key of goal_of() is what it is now. Fingerprints that earlier versions left (of the .onnx
// file alone, of three samples) are compared as these did.
bool is_same(const Json& known, const Json& now);

// Throws Error, which names what differs, when a study's values come from something else. `known`: the study's attributes;
// what an older study does not tell is not compared.
void check_comparable(const StudyKeys& place, const std::string& study, const Json& known, const Json& goal);

}  // namespace quasar::tune
