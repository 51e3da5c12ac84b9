// What ONNX Runtime really does with a quantized model: which nodes run in integer kernels, and how long a run takes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// From ONNX Runtime's optimized graph: for each of the float model's nodes named in `nodes`, whether it runs quantized (in an
// integer kernel, on integer tensors, or fused into one that does).
std::map<std::string, bool> runs_quantized(const graph::Model& quantized, const std::vector<std::string>& nodes);

struct Latency {
  double median_ms = 0;
  double p90_ms = 0;
  size_t runs = 0;
};

// One thread, warm-up first, then at least `runs` runs over the samples in turn.
Latency latency(const graph::Model& model, const data::Dataset& samples, size_t runs = 50);

}  // namespace quasar::runtime
