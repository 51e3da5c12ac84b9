// The user attributes of a study: by which names it keeps what its search was about.
#pragma once

namespace quasar::tune {

// The configuration, without passwords.
inline constexpr const char* job_attribute = "job";

// Of the Quasar that leads its search (same_version.hpp).
inline constexpr const char* version_attribute = "quasar.version";
inline constexpr const char* onnxruntime_attribute = "onnxruntime.version";

// The name of the study before it, and what its search may choose (continuation.hpp).
inline constexpr const char* predecessor_attribute = "predecessor";
inline constexpr const char* choices_attribute = "choices";

// {reader, split, folder} of the calibration samples; split: null without one; relative paths start from the folder.
inline constexpr const char* samples_attribute = "calibration";

// {key: {words, below} or {why}} for keys that name model and samples: what the study keeps of them for machines that have none
// (kept_files.hpp).
inline constexpr const char* kept_attribute = "kept files";

// The keys by which goal_of() knows the model and the calibration samples.
inline constexpr const char* model_attribute = "model";
inline constexpr const char* calibration_attribute = "set of calibration samples";
// The accuracy criterion where it is a constraint: not compared, as it is among the choices (continuation.hpp).
inline constexpr const char* criterion_attribute = "criterion";

// By which goal_of() knows the library that judges, where it is not ONNX Runtime.
inline constexpr const char* runtime_attribute = "runtime";

// Which operators stay in float to be fast (tune/speed_gate.hpp).
inline constexpr const char* speed_attribute = "speed_gate";

// Milliseconds of the float model when the study began, by which trials' latencies are told. Only where goals ask for them.
inline constexpr const char* float_ms_attribute = "float_ms";

// What the user's evaluator says of the float model (same_evaluator.hpp).
inline constexpr const char* evaluator_attribute = "search_evaluator on the float model";

}  // namespace quasar::tune
