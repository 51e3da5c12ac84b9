#include "quasar/tune/float_targets.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/tune/normalization.hpp"

namespace quasar::tune {
namespace {

std::map<std::string, Tensor> run(const runtime::Session& session, const std::vector<std::string>& names,
                                  const data::Sample& sample) {
  std::vector<Tensor> outputs = session.run(sample);
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < names.size(); i++) values[names[i]] = std::move(outputs[i]);
  return values;
}

}  // namespace

FloatTargets::FloatTargets(const graph::Model& model, std::vector<LinearLayer> layers, std::vector<data::Sample> samples,
                           const TargetOptions& options)
    : model_(model), layers_(std::move(layers)), samples_(std::move(samples)), options_(options), targets_(layers_.size()) {
  if (layers_.empty() || samples_.empty()) return;
  const graph::Index index(model);
  for (const auto& layer : layers_) normalized_.push_back(layer.convolution ? "" : normalized_value(layer.output, index));
  std::vector<size_t> all(layers_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const std::vector<std::string> names = values_of(all);
  const auto values = run(runtime::Session(runtime::tapped(model, names)), names, samples_.front());
  size_t bytes = 0, stretch = 0;
  for (size_t i = 0; i < layers_.size(); i++) {
    const size_t needs = target_of(i, 0, values).values.size() * sizeof(float) * samples_.size();
    if (bytes + needs > options_.memory_limit && bytes > 0) bytes = 0, stretch++;
    bytes += needs;
    stretch_.push_back(stretch);
  }
}

std::shared_ptr<const std::vector<Target>> FloatTargets::at(size_t layer) {
  const std::lock_guard lock(guard_);
  if (targets_[layer] == nullptr) compute(layer);
  return targets_[layer];
}

// The layers' outputs and what is normalized behind them, each once.
std::vector<std::string> FloatTargets::values_of(const std::vector<size_t>& layers) const {
  std::set<std::string> out;
  for (const size_t layer : layers) {
    out.insert(layers_[layer].output);
    if (!normalized_[layer].empty()) out.insert(normalized_[layer]);
  }
  return {out.begin(), out.end()};
}

Target FloatTargets::target_of(size_t layer, size_t sample, const std::map<std::string, Tensor>& values) const {
  const Tensor& output = values.at(layers_[layer].output);
  Target target{.shape = output.shape(), .positions = {}, .values = {}};
  const size_t most = std::max<size_t>(1, options_.columns / samples_.size());
  target.positions = choose_positions(layers_[layer], output.shape(), most, seed_of(sample, layer));
  target.values.resize(layers_[layer].outputs * target.positions.size());
  gather_outputs(layers_[layer], output, target.positions, target.values.data(), target.positions.size());
  if (normalized_[layer].empty()) return target;
  const std::vector<float> weights = weights_of_rows(values.at(normalized_[layer]));
  if (weights.size() * layers_[layer].outputs != output.count()) return target;  // sums spread one row over others
  for (const uint32_t position : target.positions) target.weights.push_back(weights[position]);
  return target;
}

void FloatTargets::compute(size_t layer) {
  std::vector<size_t> members;
  for (size_t i = 0; i < layers_.size(); i++) {
    targets_[i] = nullptr;
    if (stretch_[i] == stretch_[layer]) members.push_back(i);
  }
  const std::vector<std::string> names = values_of(members);
  std::vector<std::vector<Target>> found(members.size(), std::vector<Target>(samples_.size()));
  const runtime::Session session(runtime::tapped(model_, names));
  parallel_for(samples_.size(), options_.threads, [&](size_t sample) {
    const auto values = run(session, names, samples_[sample]);
    for (size_t i = 0; i < members.size(); i++) found[i][sample] = target_of(members[i], sample, values);
  });
  for (size_t i = 0; i < members.size(); i++)
    targets_[members[i]] = std::make_shared<const std::vector<Target>>(std::move(found[i]));
}

}  // namespace quasar::tune
