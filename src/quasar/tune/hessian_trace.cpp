#include "quasar/tune/hessian_trace.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/tune/loss.hpp"

namespace quasar::tune {
namespace {

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

// A loss that says which it is when it fails.
class Watched {
 public:
  Watched(const TraceOptions& options, const data::Dataset& samples)
      : name_("hawq_v2_loss " + options.loss), loss_(losses::table().make(options.loss)), samples_(samples) {
    for (size_t i = 0; loss_->needs_labels() && i < samples.size(); i++) {
      if (!samples.label(i)) throw TraceFailed(name_ + " needs labels, and " + samples.source() + " has none");
    }
  }

  double of(size_t sample, const Tensor& output, const Tensor& reference) const {
    const double value = attempt(sample, output, reference);
    if (std::isfinite(value)) return value;
    throw TraceFailed(name_ + " gives " + (std::isnan(value) ? "NaN" : "infinity") + " on calibration sample " +
                      std::to_string(sample) + ", but must give a finite number for every sample");
  }

 private:
  double attempt(size_t sample, const Tensor& output, const Tensor& reference) const {
    try {
      return loss_->of(output, reference, samples_.label(sample));
    } catch (const Error& e) {
      throw TraceFailed(name_ + " failed on calibration sample " + std::to_string(sample) + ": " + e.what());
    }
  }

  std::string name_;
  std::unique_ptr<Loss> loss_;
  const data::Dataset& samples_;
};

}  // namespace

std::map<std::string, double> average_traces(const graph::Model& model, const std::vector<std::string>& weights,
                                             const data::Dataset& samples, const TraceOptions& options) {
  const Watched loss(options, samples);
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
    const double here = loss.of(i, reference, reference);
    std::vector<Tensor> values = usual;
    for (size_t l = 0; l < weights.size(); l++) {
      const double step = options.step * rms(usual[l].as<float>());
      if (step == 0) continue;
      for (size_t p = 0; p < options.probes; p++) {
        double sum = -2 * here;
        for (const double direction : {step, -step}) {
          values[l] = moved(usual[l], direction, seed_of(seed_of(options.seed, l), p));
          sum += loss.of(i, run(i, values), reference);
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

double perturbation(const Tensor& weights, const quant::ConstantPlan& plan) {
  const quant::QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
  const Tensor back = quant::dequantize(plan.optimized ? plan.optimized->codes : quant::quantize(weights, params), params);
  double sum = 0;
  const auto w = weights.as<float>(), q = back.as<float>();
  for (size_t i = 0; i < w.size(); i++) sum += (w[i] - q[i]) * static_cast<double>(w[i] - q[i]);
  return sum;
}

}  // namespace quasar::tune
