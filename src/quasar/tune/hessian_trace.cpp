#include "quasar/tune/hessian_trace.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

constexpr double smallest = 1e-12;

std::vector<double> probabilities(std::span<const float> values) {
  std::vector<double> out(values.begin(), values.end());
  double sum = 0;
  bool already = true;
  for (const double value : out) {
    already = already && value >= 0;
    sum += value;
  }
  if (already && std::abs(sum - 1) < 1e-3) return out;
  const double top = *std::max_element(out.begin(), out.end());
  sum = 0;
  for (double& value : out) sum += value = std::exp(value - top);
  for (double& value : out) value /= sum;
  return out;
}

double loss_of(const std::string& loss, const Tensor& reference, const Tensor& output, std::optional<int64_t> label) {
  const auto f = reference.as<float>(), y = output.as<float>();
  double sum = 0;
  if (loss == "mse") {
    for (size_t i = 0; i < f.size(); i++) sum += (y[i] - f[i]) * static_cast<double>(y[i] - f[i]);
    return sum / static_cast<double>(std::max<size_t>(f.size(), 1));
  }
  const std::vector<double> q = probabilities(y);
  if (loss == "cross_entropy") return -std::log(std::max(q.at(static_cast<size_t>(*label)), smallest));
  const std::vector<double> p = probabilities(f);
  for (size_t i = 0; i < p.size(); i++) {
    if (p[i] > 0) sum += p[i] * std::log(p[i] / std::max(q[i], smallest));
  }
  return sum;
}

double rms(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(values.size(), 1)));
}

Tensor moved(const Tensor& weights, double step, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(weights.as<float>().begin(), weights.as<float>().end());
  for (float& value : values) value += static_cast<float>((rng.next() & 1U) != 0 ? step : -step);
  return Tensor::of(weights.shape(), values);
}

}  // namespace

std::map<std::string, double> average_traces(const graph::Model& model, const std::vector<std::string>& weights,
                                             const data::Dataset& samples, const TraceOptions& options) {
  if (options.loss != "mse" && options.loss != "kl" && options.loss != "cross_entropy")
    throw Error("unknown loss '" + options.loss + "'; known: cross_entropy, kl, mse");
  for (size_t i = 0; options.loss == "cross_entropy" && i < samples.size(); i++) {
    if (!samples.label(i)) throw Error("loss cross_entropy needs labels, and " + samples.source() + " has none");
  }
  graph::Model open = model;  // the weights become inputs
  std::vector<Tensor> usual;
  for (const auto& name : weights) {
    const Tensor tensor = open.initializers.at(name);
    open.initializers.erase(name);
    open.inputs.push_back({.name = name, .type = DataType::float32, .shape = tensor.shape()});
    usual.push_back(tensor);
  }
  const runtime::Session session(open, {.optimization = runtime::Optimization::basic});
  const auto run = [&](size_t sample, const std::vector<Tensor>& values) {
    data::Sample inputs = samples.at(sample);
    inputs.insert(inputs.end(), values.begin(), values.end());
    return session.run(inputs).front();
  };

  std::vector<std::vector<double>> by_sample(samples.size(), std::vector<double>(weights.size()));
  parallel_for(samples.size(), options.threads, [&](size_t i) {
    const Tensor reference = run(i, usual);
    const double here = loss_of(options.loss, reference, reference, samples.label(i));
    std::vector<Tensor> values = usual;
    for (size_t l = 0; l < weights.size(); l++) {
      const double step = options.step * rms(usual[l].as<float>());
      if (step == 0) continue;
      for (size_t p = 0; p < options.probes; p++) {
        double sum = -2 * here;
        for (const double direction : {step, -step}) {
          values[l] = moved(usual[l], direction, seed_of(seed_of(options.seed, l), p));
          sum += loss_of(options.loss, reference, run(i, values), samples.label(i));
        }
        by_sample[i][l] += sum / (step * step) / static_cast<double>(options.probes);
      }
      values[l] = usual[l];
    }
  });
  std::map<std::string, double> traces;
  for (size_t l = 0; l < weights.size(); l++) {
    double sum = 0;
    for (const auto& row : by_sample) sum += row[l];
    traces[weights[l]] = sum / static_cast<double>(samples.size()) / static_cast<double>(std::max<size_t>(usual[l].count(), 1));
  }
  return traces;
}

}  // namespace quasar::tune
