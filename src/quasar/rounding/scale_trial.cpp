#include "quasar/rounding/scale_trial.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "quasar/rounding/normalization.hpp"
#include "quasar/rounding/weighted_rows.hpp"

namespace quasar::tune {
namespace {

constexpr double standard_errors = 3;  // that a certain loss, and a gain by clipping, must exceed
constexpr double hopeless = 2;         // times the present parameters' error: given up in any case

Tensor zero_point_tensor(const quant::QuantParams& params) {
  if (params.type == DataType::int8) return Tensor::scalar(static_cast<int8_t>(params.zero_points[0]));
  return Tensor::scalar(static_cast<uint8_t>(params.zero_points[0]));
}

}  // namespace

void ScaleTrial::begin(std::vector<Judge> with) {
  judges = std::move(with);
  for (size_t j = 0; j < judges.size(); j++) slots[judges[j].sample] = j;
  const size_t count = judges.size() * window.outputs.size();
  errors_.assign(candidates.size(), std::vector<double>(count));
  powers_.assign(count, 0);
  for (size_t c = 0; c < candidates.size(); c++) alive.insert(c);
}

void ScaleTrial::look_at(size_t slot, const std::map<std::string, Tensor>& values) {
  std::vector<Tensor> inputs;
  for (const auto& name : window.inputs) inputs.push_back(values.at(name));
  inputs.resize(inputs.size() + 2);
  const size_t outputs = window.outputs.size();
  std::vector<Weighting> weightings;
  for (size_t k = 0; k < outputs; k++) {
    weightings.emplace_back(values.at(window.outputs[k]),
                            normalized[k].empty() ? std::vector<float>() : weights_of_rows(values.at(normalized[k])));
  }
  for (const size_t c : alive) {
    inputs[inputs.size() - 2] = Tensor::scalar(candidates[c].scales[0]);
    inputs[inputs.size() - 1] = zero_point_tensor(candidates[c]);
    const auto found = session_->run(inputs);
    for (size_t k = 0; k < outputs; k++)
      errors_[c][slot * outputs + k] = squared_distance(found[k], values.at(window.outputs[k]), weightings[k]);
  }
  for (size_t k = 0; k < outputs; k++) powers_[slot * outputs + k] = spread(values.at(window.outputs[k]), weightings[k]);
}

void ScaleTrial::screen(size_t count) {
  const std::vector<double> present = errors_of(0, count);
  const double most = (hopeless - 1) * std::accumulate(present.begin(), present.end(), 0.0);
  std::erase_if(alive, [&](size_t c) {
    if (c == 0) return false;
    std::vector<double> losses = errors_of(c, count);
    std::ranges::transform(losses, present, losses.begin(), std::minus());
    return std::accumulate(losses.begin(), losses.end(), 0.0) > most || certain_gain(losses, standard_errors) > 0;
  });
}

size_t ScaleTrial::best() const {
  size_t best = 0;
  double most = 0;
  const std::vector<double> now = errors_of(0, judges.size());
  for (const size_t c : alive) {
    std::vector<double> gains = errors_of(c, judges.size());
    for (size_t j = 0; j < gains.size(); j++) gains[j] = now[j] - gains[j];
    const bool wider = candidates[c].scales[0] > candidates[0].scales[0];
    const double gain = certain_gain(gains, wider ? 0 : standard_errors);
    if (c == 0 || gain <= most) continue;
    most = gain;
    best = c;
  }
  return best;
}

std::vector<double> ScaleTrial::errors_of(size_t candidate, size_t count) const {
  const size_t outputs = window.outputs.size();
  std::vector<double> out(count);
  for (size_t k = 0; k < outputs; k++) {
    double power = 0;
    for (size_t j = 0; j < count; j++) power += judges[j].weight * powers_[j * outputs + k];
    if (power <= 0) continue;
    for (size_t j = 0; j < count; j++) out[j] += judges[j].weight * errors_[candidate][j * outputs + k] / power;
  }
  return out;
}

}  // namespace quasar::tune
