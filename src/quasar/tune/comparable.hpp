// Whether the values of a study may stand beside those of a search.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/data/dataset.hpp"
#include "quasar/tune/job.hpp"

namespace quasar::tune {

// What values depend on besides the configuration of a trial, by name; kept as attributes of the study: the model, the goals, the
// target, the samples and what is true of them, the user's evaluator, the weights of outputs, the decoder.
Json goal_of(const Job& job, const data::Splits& samples);

// The keys by which goal_of() knows the model and the calibration samples, and what stands there: hashes of the .onnx file and of
// the files with its external data; of all samples.
inline constexpr const char* model_attribute = "model";
inline constexpr const char* calibration_attribute = "set of calibration samples";
// The accuracy criterion where it is a constraint: not compared, as it is among the choices (continuation.hpp).
inline constexpr const char* criterion_attribute = "criterion";
bool is_fingerprint(const std::string& key);  // of those of goal_of(): what stands there says nothing to a reader
std::string fingerprint(const std::filesystem::path& model);
std::string fingerprint(const data::Dataset& samples);

// Whether what a study knows under a key of goal_of() is what it is now. Fingerprints that earlier versions left (of the .onnx
// file alone, of three samples) are compared as these did.
bool is_same(const Json& known, const Json& now);

// Throws Error, which names what differs, when a study's values come from something else. `known`: the study's attributes;
// what an older study does not tell is not compared.
void check_comparable(const Job& job, const std::string& study, const Json& known, const Json& goal);

}  // namespace quasar::tune
