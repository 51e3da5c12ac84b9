#include "quasar/tune/float_targets.hpp"

#include <algorithm>

#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

std::vector<std::string> outputs_of(const std::vector<LinearLayer>& layers) {
  std::vector<std::string> out;
  for (const auto& layer : layers) out.push_back(layer.output);
  return out;
}

}  // namespace

FloatTargets::FloatTargets(const graph::Model& model, std::vector<LinearLayer> layers, std::vector<data::Sample> samples,
                           const TargetOptions& options)
    : model_(model), layers_(std::move(layers)), samples_(std::move(samples)), options_(options), targets_(layers_.size()) {
  if (layers_.empty() || samples_.empty()) return;
  const std::vector<Tensor> outputs = runtime::Session(runtime::tapped(model, outputs_of(layers_))).run(samples_.front());
  size_t bytes = 0, stretch = 0;
  for (size_t i = 0; i < layers_.size(); i++) {
    const size_t needs = target_of(i, 0, outputs[i]).values.size() * sizeof(float) * samples_.size();
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

Target FloatTargets::target_of(size_t layer, size_t sample, const Tensor& output) const {
  Target target{.shape = output.shape(), .positions = {}, .values = {}};
  const size_t most = std::max<size_t>(1, options_.columns / samples_.size());
  target.positions = choose_positions(layers_[layer], output.shape(), most, seed_of(sample, layer));
  target.values.resize(layers_[layer].outputs * target.positions.size());
  gather_outputs(layers_[layer], output, target.positions, target.values.data(), target.positions.size());
  return target;
}

void FloatTargets::compute(size_t layer) {
  std::vector<size_t> members;
  std::vector<LinearLayer> wanted;
  for (size_t i = 0; i < layers_.size(); i++) {
    targets_[i] = nullptr;
    if (stretch_[i] != stretch_[layer]) continue;
    members.push_back(i);
    wanted.push_back(layers_[i]);
  }
  std::vector<std::vector<Target>> found(members.size(), std::vector<Target>(samples_.size()));
  const runtime::Session session(runtime::tapped(model_, outputs_of(wanted)));
  parallel_for(samples_.size(), options_.threads, [&](size_t sample) {
    const std::vector<Tensor> outputs = session.run(samples_[sample]);
    for (size_t i = 0; i < members.size(); i++) found[i][sample] = target_of(members[i], sample, outputs[i]);
  });
  for (size_t i = 0; i < members.size(); i++)
    targets_[members[i]] = std::make_shared<const std::vector<Target>>(std::move(found[i]));
}

}  // namespace quasar::tune
