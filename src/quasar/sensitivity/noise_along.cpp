#include "quasar/sensitivity/noise_along.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "quasar/base/parallel.hpp"
#include "quasar/eval/sums.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

bool has_pairs(const graph::Node& node, const quant::Plan& plan) {
  const auto planned = plan.nodes.find(node.name);
  return planned != plan.nodes.end() && planned->second.form == quant::NodeForm::pairs;
}

// Where the node's kernel hands its result out.
std::string result_of(const graph::Node& node, const graph::Index& index, const quant::Plan& plan) {
  std::string value = node.outputs.front();
  if (!has_pairs(node, plan)) return value;
  while (!plan.values.contains(value)) {
    const graph::Node* reader = graph::sole_reader(value, index);
    if (reader == nullptr || reader->inputs.front() != value) break;
    if (!has_pairs(*reader, plan) && !plan.folded.contains(reader->name)) break;
    value = reader->outputs.front();
  }
  return value;
}

struct Sums {
  double noise = 0, signal = 0;
};

Sums compared(const Tensor& exact, const Tensor& used) {
  if (exact.type() != DataType::float32 || used.type() != DataType::float32 || exact.count() != used.count()) return {};
  const auto x = exact.as<float>(), y = used.as<float>();
  return {eval::squared_distance(x, y), eval::dot(x, x)};
}

// The values to look at, graph outputs first.
std::vector<std::string> looked_at(const graph::Model& model, const graph::Model& built,
                                   const std::map<std::string, std::string>& results) {
  std::set<std::string> known;
  for (const auto& node : graph::closed(built).nodes) known.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string> out;
  for (const auto& output : model.outputs) {
    if (known.contains(output.name)) out.push_back(output.name);
  }
  for (const auto& [node, value] : results) {
    if (known.contains(value) && std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
  return out;
}

}  // namespace

NoiseAlong noise_along(const graph::Model& model, const graph::Model& built, const quant::Plan& plan,
                       const data::Dataset& samples, size_t threads) {
  const graph::Index index(model);
  const std::set<std::string> inner = graph::inner_values(model);
  std::map<std::string, std::string> results;
  for (const auto& node : model.nodes) {
    if (!node.inside.empty()) continue;
    if (plan.nodes.contains(node.name) || plan.skipped.contains(node.name)) results[node.name] = result_of(node, index, plan);
  }
  std::erase_if(results, [&](const auto& result) { return inner.contains(result.second); });
  const std::vector<std::string> values = looked_at(model, built, results);
  NoiseAlong out;
  if (values.empty() || samples.size() == 0) return out;
  std::unique_ptr<runtime::Session> exact, used;
  parallel_for(2, threads, [&](size_t i) {
    (i == 0 ? exact : used) = std::make_unique<runtime::Session>(runtime::tapped(i == 0 ? model : built, values));
  });
  std::vector<std::vector<Sums>> by_sample(samples.size());
  parallel_for(samples.size(), threads, [&](size_t i) {
    const data::Sample sample = samples.at(i);
    const auto a = exact->run(sample), b = used->run(sample);
    for (size_t k = 0; k < values.size(); ++k) by_sample[i].push_back(compared(a[k], b[k]));
  });
  const size_t outputs = static_cast<size_t>(std::ranges::count_if(
      model.outputs, [&](const auto& output) { return std::ranges::find(values, output.name) != values.end(); }));
  std::vector<Sums> totals(values.size());
  for (const auto& sums : by_sample) {
    double noise = 0, signal = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      totals[k].noise += sums[k].noise;
      totals[k].signal += sums[k].signal;
      noise += k < outputs ? sums[k].noise : 0;
      signal += k < outputs ? sums[k].signal : 0;
    }
    out.distance += std::sqrt(noise) / static_cast<double>(samples.size());
    out.length += std::sqrt(signal) / static_cast<double>(samples.size());
  }
  for (const auto& [node, value] : results) {
    const auto place = std::ranges::find(values, value);
    if (place == values.end()) continue;
    const Sums& sums = totals[static_cast<size_t>(place - values.begin())];
    if (sums.signal > 0) out.nodes[node] = sums.noise / sums.signal;
  }
  return out;
}

}  // namespace quasar::tune
