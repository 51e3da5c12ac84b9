#include "quasar/rounding/end_loss.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune {
namespace {

constexpr int64_t prime = 2147483647;  // 2³¹ − 1

// A vector of +1 and −1 in the shape of a value: the last bit of numbers that are squared twice modulo a prime, which whole
// numbers give alike on every processor.
std::string signs(NodeWriter& w, const std::string& value, const std::string& seed, int64_t stride) {
  const std::string modulus = w.integer(prime);
  const auto rest = [&](const std::string& number) { return w.node("Mod", {number, modulus}); };
  const std::string count = w.node("Range", {w.integer(1), w.add(w.node("Size", {value}), w.integer(1)), w.integer(1)});
  std::string number = rest(w.add(w.multiply(count, w.integer(1664525)), w.multiply(seed, w.integer(stride))));
  for (size_t round = 0; round < 2; round++) number = rest(w.add(w.multiply(number, number), count));
  const std::string bit = w.node("Mod", {number, w.integer(2)});
  const std::string sign = w.subtract(w.multiply(bit, w.integer(2)), w.integer(1));
  return w.like(w.as_float(sign), value);
}

// The mean of squares over a layer's outputs at each position, in one row.
std::string mean_square(NodeWriter& w, const std::string& gradient, const LinearLayer& layer) {
  const std::string mean = w.reduced("ReduceMean", w.multiply(gradient, gradient), {layer.convolution ? 1 : -1});
  return w.node("Reshape", {mean, w.integers({-1})});
}

}  // namespace

EndLoss::EndLoss(const graph::Model& model, const std::vector<LinearLayer>& layers) : places_(layers.size(), -1) {
  std::vector<std::string> values;
  for (const auto& layer : layers) values.push_back(layer.output);
  graph::Names names(model);
  const graph::Value seed{.name = names.fresh("reverse_seed"), .type = DataType::int64, .shape = Shape{}};
  int64_t output = 0;
  ReversePass pass = reverse_pass(model, values, [&](NodeWriter& writer, const std::string& value) {
    return signs(writer, value, seed.name, 2 * output++ + 1);
  });
  missing_ = pass.missing;
  if (pass.gradients.empty()) return;
  NodeWriter writer(pass.model, {});
  pass.model.inputs.push_back(seed);
  pass.model.outputs.clear();
  for (size_t i = 0; i < layers.size(); i++) {
    const auto found = pass.gradients.find(layers[i].output);
    if (found == pass.gradients.end()) continue;
    places_[i] = static_cast<ptrdiff_t>(pass.model.outputs.size());
    pass.model.outputs.push_back({mean_square(writer, found->second, layers[i]), DataType::float32});
  }
  graph::remove_unused(pass.model);
  session_ = std::make_unique<runtime::Session>(pass.model);
}

std::vector<std::vector<float>> EndLoss::at(const data::Sample& sample, uint64_t seed) const {
  std::vector<std::vector<float>> weights(places_.size());
  if (session_ == nullptr) return weights;
  data::Sample inputs = sample;
  inputs.push_back(Tensor::scalar(static_cast<int64_t>(seed % static_cast<uint64_t>(prime))));
  const std::vector<Tensor> squares = session_->run(inputs);
  for (size_t i = 0; i < places_.size(); i++) {
    if (places_[i] < 0) continue;
    const auto values = squares[static_cast<size_t>(places_[i])].as<float>();
    weights[i].assign(values.begin(), values.end());
  }
  return weights;
}

size_t EndLoss::layers_without() const {
  return static_cast<size_t>(std::ranges::count(places_, -1));
}

void guide(std::vector<std::vector<float>>& weights, const std::vector<std::vector<float>>& end_loss, double strength) {
  double sum = 0;
  for (const auto& sample : end_loss) {
    for (const float value : sample) sum += static_cast<double>(value);
  }
  if (!std::isfinite(sum) || sum <= 0) return;
  double before = 0, after = 0;
  for (size_t i = 0; i < weights.size(); i++) {
    std::vector<float>& own = weights[i];
    if (own.empty()) own.assign(end_loss[i].size(), 1);
    for (size_t p = 0; p < own.size(); p++) {
      const auto n = static_cast<double>(own[p]);
      own[p] = static_cast<float>(n * std::pow(static_cast<double>(end_loss[i][p]) / n, strength));
      before += n;
      after += static_cast<double>(own[p]);
    }
  }
  const double scale = before / after;
  for (auto& sample : weights) {
    for (float& weight : sample) weight = static_cast<float>(scale * static_cast<double>(weight));
  }
}

}  // namespace quasar::tune
