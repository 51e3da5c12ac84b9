#include "quasar/sensitivity/hessian_trace.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/runtime/session.hpp"

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

// The model with these weights as inputs, and the values that they have.
struct Opened {
  graph::Model model;
  std::vector<Tensor> usual;

  Opened(const graph::Model& closed, const std::vector<std::string>& weights) : model(closed) {
    for (const auto& name : weights) {
      usual.push_back(model.initializers.at(name));
      model.initializers.erase(name);
      model.inputs.push_back({.name = name, .type = DataType::float32, .shape = usual.back().shape()});
    }
  }
};

// Per sample and layer, the trace.
using Rows = std::vector<std::vector<double>>;

Rows measured(const Opened& open, const data::Dataset& samples, const TraceOptions& options) {
  const runtime::Session session(open.model, {.optimization = runtime::Optimization::basic});
  const OutputLoss loss({.loss = options.loss, .output_weights = options.output_weights}, session.outputs(), samples);
  const auto run = [&](size_t sample, const std::vector<Tensor>& values) {
    data::Sample inputs = samples.at(sample);
    inputs.insert(inputs.end(), values.begin(), values.end());
    return session.run(inputs, loss.outputs());
  };
  Rows by_sample(samples.size(), std::vector<double>(open.usual.size()));
  parallel_for(samples.size(), options.threads, [&](size_t i) {
    const std::vector<Tensor> reference = run(i, open.usual);
    const double here = loss.of(i, reference, reference);
    std::vector<Tensor> values = open.usual;
    for (size_t l = 0; l < values.size(); l++) {
      const double step = options.step * rms(open.usual[l].as<float>());
      if (step == 0) continue;
      for (size_t p = 0; p < options.probes; p++) {
        double sum = -2 * here;
        for (const double direction : {step, -step}) {
          values[l] = moved(open.usual[l], direction, seed_of(seed_of(options.seed, l), p));
          sum += loss.of(i, run(i, values), reference);
        }
        by_sample[i][l] += sum / (step * step) / static_cast<double>(options.probes);
      }
      values[l] = open.usual[l];
    }
  });
  return by_sample;
}

}  // namespace

std::map<std::string, double> average_traces(const graph::Model& model, const std::vector<std::string>& weights,
                                             const data::Dataset& samples, const TraceOptions& options) {
  losses::table().make(options.loss);  // an unknown one is the user's mistake, and no failure
  const Opened open(model, weights);
  Rows by_sample;
  try {
    by_sample = measured(open, samples, options);
  } catch (const TraceFailed&) {
    throw;
  } catch (const Error& e) {
    throw TraceFailed("the model with its weights as inputs failed: " + std::string(e.what()));
  }
  std::map<std::string, double> traces;
  for (size_t l = 0; l < weights.size(); l++) {
    double sum = 0;
    for (const auto& row : by_sample) sum += row[l];
    traces[weights[l]] =
        sum / static_cast<double>(samples.size()) / static_cast<double>(std::max<size_t>(open.usual[l].count(), 1));
  }
  return traces;
}

double perturbation(const Tensor& weights, const quant::ConstantPlan& plan) {
  const quant::QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
  const Tensor back =
      quant::dequantize(plan.optimized ? plan.optimized->codes : quant::quantize_within(weights, params, plan.limits), params);
  double sum = 0;
  const auto w = weights.as<float>(), q = back.as<float>();
  for (size_t i = 0; i < w.size(); i++) sum += (w[i] - q[i]) * static_cast<double>(w[i] - q[i]);
  return sum;
}

}  // namespace quasar::tune
