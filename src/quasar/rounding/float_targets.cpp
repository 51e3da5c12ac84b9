#include "quasar/rounding/float_targets.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/data/repeating.hpp"
#include "quasar/rounding/end_loss.hpp"
#include "quasar/rounding/normalization.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

std::map<std::string, Tensor> run(const runtime::Session& session, const std::vector<std::string>& names,
                                  const data::Sample& sample) {
  std::vector<Tensor> outputs = session.run(sample);
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < names.size(); i++) values[names[i]] = std::move(outputs[i]);
  return values;
}

// A batch of copies gives as many equal parts, as near as kernels give the same for different rows; 1: it does not.
int64_t copies_in(const Tensor& output, int64_t repeats) {
  if (repeats < 2 || output.shape().empty() || output.shape().front() % repeats != 0) return 1;
  const auto values = output.as<float>();
  const size_t part = values.size() / static_cast<size_t>(repeats);
  float largest = 0;
  for (const float value : values.first(part)) largest = std::max(largest, std::abs(value));
  for (size_t i = part; i < values.size(); i++) {
    if (std::abs(values[i] - values[i % part]) > 1e-4F * largest) return 1;
  }
  return repeats;
}

std::string in_words(const EndLoss& end_loss, size_t layers) {
  std::vector<std::string> types;
  for (const auto& [type, count] : end_loss.missing()) types.push_back(type + " (" + std::to_string(count) + ")");
  const std::string without = std::to_string(end_loss.layers_without()) + " of " + std::to_string(layers) + " layers";
  if (types.empty()) return "end_loss_guidance: " + without + " do nothing to a float output; their positions count alike";
  return "end_loss_guidance: positions of " + without +
         " count alike, as operators behind them have no gradient: " + joined(types);
}

}  // namespace

FloatTargets::FloatTargets(const graph::Model& model, std::vector<LinearLayer> layers, std::shared_ptr<const HeldSamples> samples,
                           const TargetOptions& options, SharedLimit& limit)
    : model_(model),
      layers_(std::move(layers)),
      samples_(std::move(samples)),
      options_(options),
      limit_(limit),
      targets_(layers_.size()) {
  if (layers_.empty() || options_.samples == 0) return;
  const graph::Index index(model);
  for (const auto& layer : layers_) normalized_.push_back(layer.convolution ? "" : normalized_value(layer.output, index));
  values_ = values_of_all();
  const auto values = run(runtime::Session(runtime::tapped(model, values_)), values_, samples_->at(0));
  for (size_t i = 0; i < layers_.size(); i++) {
    copies_.push_back(copies_in(values.at(layers_[i].output), data::repeats_of(*samples_)));
    needs_.push_back(target_of(i, 0, values).values.size() * sizeof(float) * options_.samples);
    largest_ = std::max(largest_, values.at(layers_[i].output).bytes().size());
  }
}

FloatTargets::~FloatTargets() {
  limit_.forget(*this);
}

std::shared_ptr<const std::vector<Target>> FloatTargets::at(size_t layer) {
  std::shared_ptr<const std::vector<Target>> found;
  size_t held = 0;
  {
    const std::lock_guard lock(guard_);
    if (targets_[layer] == nullptr) compute(layer, limit_.each());
    found = targets_[layer];
    held = held_;
  }
  limit_.holds(*this, held);
  return found;
}

std::string FloatTargets::note() const {
  const std::lock_guard lock(guard_);
  return note_;
}

bool FloatTargets::give_up() {
  const std::unique_lock lock(guard_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  std::ranges::fill(targets_, nullptr);
  held_ = 0;
  return true;
}

// The layers' outputs and what is normalized behind them, each once.
std::vector<std::string> FloatTargets::values_of_all() const {
  std::set<std::string> out;
  for (size_t layer = 0; layer < layers_.size(); layer++) {
    out.insert(layers_[layer].output);
    if (!normalized_[layer].empty()) out.insert(normalized_[layer]);
  }
  return {out.begin(), out.end()};
}

Target FloatTargets::target_of(size_t layer, size_t sample, const std::map<std::string, Tensor>& values) const {
  const Tensor& output = values.at(layers_[layer].output);
  Target target{.shape = output.shape(), .positions = {}, .values = {}};
  const size_t most = std::max<size_t>(1, options_.columns / options_.samples);
  Shape one = output.shape();
  if (copies_[layer] > 1) one.front() /= copies_[layer];
  target.positions = choose_positions(layers_[layer], one, most, seed_of(sample, layer));
  target.values.resize(layers_[layer].outputs * target.positions.size());
  gather_outputs(layers_[layer], output, target.positions, target.values.data(), target.positions.size());
  if (normalized_[layer].empty()) return target;
  const std::vector<float> weights = weights_of_rows(values.at(normalized_[layer]));
  if (weights.size() * layers_[layer].outputs != output.count()) return target;  // sums spread one row over others
  for (const uint32_t position : target.positions) target.weights.push_back(weights[position]);
  return target;
}

// By what positions do to the model's outputs. found: [members, samples]
void FloatTargets::weigh(std::vector<std::vector<Target>>& found, const std::vector<size_t>& members) {
  std::vector<std::vector<std::vector<float>>> seen(members.size(), std::vector<std::vector<float>>(options_.samples));
  try {
    const EndLoss end_loss(model_, layers_);
    if (end_loss.layers_without() > 0) note_ = in_words(end_loss, layers_.size());
    parallel_for(options_.samples, options_.threads, [&](size_t sample) {
      const auto weights = end_loss.at(samples_->at(sample), seed_of(0, sample));
      for (size_t i = 0; i < members.size(); i++) {
        const auto& all = weights[members[i]];
        if (all.empty()) continue;
        for (const uint32_t position : found[i][sample].positions) seen[i][sample].push_back(all.at(position));
      }
    });
  } catch (const Error& error) {
    note_ = std::string("end_loss_guidance has no effect: the model's gradients cannot be computed: ") + error.what();
    return;
  }
  for (size_t i = 0; i < members.size(); i++) {
    std::vector<std::vector<float>> weights;
    for (const auto& target : found[i]) weights.push_back(target.weights);
    guide(weights, seen[i], options_.end_loss);
    for (size_t sample = 0; sample < options_.samples; sample++) found[i][sample].weights = std::move(weights[sample]);
  }
}

// Of all layers where they fit, otherwise of those from this one on that do. Every run gives the values of all layers: kernels
// depend on which values are asked for, and results must not depend on what fits.
void FloatTargets::compute(size_t layer, size_t limit) {
  const bool all = std::accumulate(needs_.begin(), needs_.end(), size_t{0}) <= limit;
  std::vector<size_t> members;
  std::ranges::fill(targets_, nullptr);
  held_ = 0;
  for (size_t i = all ? 0 : layer; i < layers_.size() && (members.empty() || held_ + needs_[i] <= limit); i++) {
    held_ += needs_[i];
    members.push_back(i);
  }
  std::vector<std::vector<Target>> found(members.size(), std::vector<Target>(options_.samples));
  const runtime::Session session(runtime::tapped(model_, values_));
  parallel_for(options_.samples, options_.threads, [&](size_t sample) {
    const auto values = run(session, values_, samples_->at(sample));
    for (size_t i = 0; i < members.size(); i++) found[i][sample] = target_of(members[i], sample, values);
  });
  if (options_.end_loss > 0) weigh(found, members);
  for (size_t i = 0; i < members.size(); i++)
    targets_[members[i]] = std::make_shared<const std::vector<Target>>(std::move(found[i]));
}

}  // namespace quasar::tune
