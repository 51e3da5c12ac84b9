// How well a model does: against the float model, and against what its samples are labelled with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"

namespace quasar::api {

struct EvaluateOptions {
  std::filesystem::path model;
  std::filesystem::path reference = {};          // the float model; empty: the model is its own, which leaves what labels say
  Json data;                                     // samples, as data::open() takes them
  std::vector<std::string> metrics = {"parts"};  // names, with options: "topk(k=3)"; see `quasar list metrics`
  Json decoder = nullptr;  // what turns outputs into detections: a name, or {name: …, option: value}; null: none is needed
  bool latency = false;    // whether the time of a run is measured, on one thread
  Json output_weights = nullptr;        // {output: factor}; 0 leaves one out
  std::string runtime = "onnxruntime";  // what the models run in: onnxruntime, openvino or qnn_htp
};

// {metrics: {name: {value, low, high, samples, per_sample: [values]}}, bytes: of the model's files, latency_ms: {median, p90},
// warnings: [text]}. low and high are the ends of the 95 % interval. Throws Error for models, samples and metrics that do not
// belong together, and for a runtime that is not here.
QUASAR_API Json evaluate(const EvaluateOptions& options);

}  // namespace quasar::api
