#include "quasar/rounding/scale_trial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "quasar/rounding/normalization.hpp"
#include "quasar/rounding/weighted_rows.hpp"

namespace quasar::tune {
namespace {

constexpr double standard_errors = 3;  // that a gain by clipping must exceed
constexpr double doubt = 2;            // standard errors by which a gain may be larger than it looks
constexpr double least_gain = 0.01;    // of the error: what is worth further judges
constexpr size_t few_judges = 8;       // whose sum says little, as it holds the extremes
constexpr size_t fewest_judges = 4;    // that speak for all where they agree that a candidate is worse

Tensor zero_point_tensor(const quant::QuantParams& params) {
  if (params.type == DataType::int8) return Tensor::scalar(static_cast<int8_t>(params.zero_points[0]));
  return Tensor::scalar(static_cast<uint8_t>(params.zero_points[0]));
}

struct Gain {
  double sum = 0, standard_error = 0;
};

Gain sum_of(std::span<const double> gains) {
  const auto count = static_cast<double>(gains.size());
  const double sum = std::accumulate(gains.begin(), gains.end(), 0.0);
  double squares = 0;
  for (const double gain : gains) squares += std::pow(gain - sum / count, 2);
  return {sum, gains.size() < 2 ? 0 : std::sqrt(squares * count / (count - 1))};
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

std::vector<double> ScaleTrial::look_at(const std::map<std::string, Tensor>& values) const {
  std::vector<Tensor> inputs;
  for (const auto& name : window.inputs) inputs.push_back(values.at(name));
  inputs.resize(inputs.size() + 2);
  const size_t outputs = window.outputs.size();
  std::vector<Weighting> weightings;
  for (size_t k = 0; k < outputs; k++) {
    weightings.emplace_back(values.at(window.outputs[k]),
                            normalized[k].empty() ? std::vector<float>() : weights_of_rows(values.at(normalized[k])));
  }
  std::vector<double> out;
  for (const size_t c : alive) {
    inputs[inputs.size() - 2] = Tensor::scalar(candidates[c].scales[0]);
    inputs[inputs.size() - 1] = zero_point_tensor(candidates[c]);
    const auto found = session_->run(inputs);
    for (size_t k = 0; k < outputs; k++) out.push_back(squared_distance(found[k], values.at(window.outputs[k]), weightings[k]));
  }
  for (size_t k = 0; k < outputs; k++) out.push_back(spread(values.at(window.outputs[k]), weightings[k]));
  return out;
}

void ScaleTrial::note(size_t slot, std::span<const double> found) {
  const size_t outputs = window.outputs.size();
  const auto put = [&](std::vector<double>& into) {
    std::ranges::copy(found.first(outputs), into.begin() + static_cast<ptrdiff_t>(slot * outputs));
    found = found.subspan(outputs);
  };
  for (const size_t c : alive) put(errors_[c]);
  put(powers_);
}

void ScaleTrial::screen(size_t count) {
  seen_ = count;
  if (count < few_judges) {
    const auto is_worse = [](double gain) { return gain < 0; };
    if (count >= fewest_judges)
      std::erase_if(alive, [&](size_t c) { return c != 0 && std::ranges::all_of(gains_of(c, 0), is_worse); });
    settled_ = alive.size() == 1;
    return;
  }
  const std::vector<double> present = errors_of(0);
  const double error = std::accumulate(present.begin(), present.end(), 0.0);
  const double little = least_gain * error;
  const auto may_gain = [&](size_t c, size_t over) {
    const Gain gain = sum_of(gains_of(c, over));
    return gain.sum + doubt * gain.standard_error > little;
  };
  std::erase_if(alive,
                [&](size_t c) { return c != 0 && ((count > few_judges && sum_of(gains_of(c, 0)).sum < 0) || !may_gain(c, 0)); });
  const size_t first = best();
  if (first != 0) std::erase_if(alive, [&](size_t c) { return c != 0 && c != first && !may_gain(c, first); });
  settled_ = alive.size() == 1 || (alive.size() == 2 && first != 0);
}

size_t ScaleTrial::best() const {
  size_t best = 0;
  double most = 0;
  for (const size_t c : alive) {
    if (c == 0) continue;
    const bool wider = candidates[c].scales[0] > candidates[0].scales[0];
    const double gain = certain_gain(gains_of(c, 0), wider ? 0 : standard_errors);
    if (gain <= most) continue;
    most = gain;
    best = c;
  }
  return best;
}

std::vector<double> ScaleTrial::gains_of(size_t candidate, size_t over) const {
  std::vector<double> gains = errors_of(over);
  const std::vector<double> errors = errors_of(candidate);
  for (size_t j = 0; j < gains.size(); j++) gains[j] -= errors[j];
  return gains;
}

std::vector<double> ScaleTrial::errors_of(size_t candidate) const {
  const size_t outputs = window.outputs.size();
  std::vector<double> out(seen_);
  for (size_t k = 0; k < outputs; k++) {
    double power = 0;
    for (size_t j = 0; j < seen_; j++) power += judges[j].weight * powers_[j * outputs + k];
    if (power <= 0) continue;
    for (size_t j = 0; j < seen_; j++) out[j] += judges[j].weight * errors_[candidate][j * outputs + k] / power;
  }
  return out;
}

}  // namespace quasar::tune
