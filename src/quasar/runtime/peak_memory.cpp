// The least memory that a run needs: weights, and the tensors that are alive at the same time.
#include <algorithm>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {

// Bytes of every tensor of the graph, inputs included, as one run gives them.
std::map<std::string, size_t> sizes_of(const graph::Model& model, const data::Sample& sample) {
  std::vector<std::string> values;
  for (const auto& node : model.nodes) {
    for (const auto& output : node.outputs) {
      if (!output.empty()) values.push_back(output);
    }
  }
  std::map<std::string, size_t> out;
  for (size_t i = 0; i < sample.size(); ++i) out[model.inputs[i].name] = sample[i].bytes().size();
  const Session session(tapped(model, values), {.optimization = Optimization::none});
  const auto tensors = session.run(sample);
  for (size_t i = 0; i < values.size(); ++i) out[values[i]] = tensors[i].bytes().size();
  return out;
}

}  // namespace

size_t peak_memory(const graph::Model& model, const data::Dataset& samples) {
  if (samples.size() == 0) throw Error("peak_memory needs at least one sample, but " + samples.source() + " has none");
  const graph::Model run = optimized(model);
  const auto sizes = sizes_of(run, samples.at(0));
  std::map<std::string, size_t> last_use;
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    for (const auto* list : {&run.nodes[i].inputs, &run.nodes[i].captures}) {
      for (const auto& value : *list) last_use[value] = i;
    }
  }
  for (const auto& output : run.outputs) last_use[output.name] = run.nodes.size();
  std::vector<size_t> freed(run.nodes.size() + 1, 0);  // bytes, after each node
  for (const auto& [value, size] : sizes) {
    if (const auto use = last_use.find(value); use != last_use.end()) freed[use->second] += size;
  }
  size_t weights = 0, alive = 0;
  for (const auto& [name, tensor] : run.initializers) weights += tensor.bytes().size();
  for (const auto& input : run.inputs) alive += sizes.at(input.name);
  size_t peak = alive;
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    for (const auto& output : run.nodes[i].outputs) alive += output.empty() ? 0 : sizes.at(output);
    peak = std::max(peak, alive);
    alive -= freed[i];
    for (const auto& output : run.nodes[i].outputs) {
      if (!output.empty() && !last_use.contains(output)) alive -= sizes.at(output);
    }
  }
  return weights + peak;
}

}  // namespace quasar::runtime
