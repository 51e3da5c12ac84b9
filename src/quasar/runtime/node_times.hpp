// How long each node of a model takes, by ONNX Runtime's profile.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/latency.hpp"

namespace quasar::runtime {

// In microseconds, the median of several runs.
struct NodeTimes {
  std::map<std::string, double>
      nodes;       // by name, of the model as it was written; those without a kernel of their own are left out
  double run = 0;  // of all together
};

// One after the other of the given models, in turns over the samples, so that what else the machine does meets all of them; all
// of effort's turns, whatever is settled. On several threads each model makes its runs in a row (runtime/latency.hpp says why). A
// fusion counts for the node that it has its type from (of Conv and Relu, the Conv). What ONNX Runtime adds, such as changes of
// layout, counts for the node that it is made for. Throws Error without samples, and when ONNX Runtime cannot open a model.
std::vector<NodeTimes> node_times(std::span<const graph::Model* const> models, const data::Dataset& samples,
                                  const Effort& effort = {.turns = 20, .seconds = 10, .at_least = 0});

}  // namespace quasar::runtime
