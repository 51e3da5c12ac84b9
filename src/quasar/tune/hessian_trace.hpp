// How curved a loss is in the weights of each layer, without derivatives.
//
// Hutchinson's estimator (1990) of the trace of the Hessian H_l of layer l's weights, E[vᵀ H_l v] over vectors v of random signs,
// with
//   vᵀ H v ≈ (L(W + εv) − 2 L(W) + L(W − εv)) / ε²,   ε = step · rms(W_l)
// from forward runs only. The loss is computed from the model's outputs:
//   mse            mean (y − f)² against the float model's outputs f
//   kl             Σ f log(f / y) of probabilities (softmax is applied to outputs that are none)
//   cross_entropy  −log of the label's probability
// HAWQ-V2 (Dong et al. 2020): a layer matters by its average trace times the size of the perturbation, tr(H_l)/n_l · ‖W_l −
// Ŵ_l‖².
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

struct TraceOptions {
  std::string loss = "mse";
  size_t probes = 4;   // random directions per layer
  double step = 0.02;  // ε as a share of the weights' root mean square
  uint64_t seed = 0;
  size_t threads = 0;
};

// Trace divided by the number of weights, for each of these initializers, by name. Throws Error for an unknown loss, and for
// cross_entropy on samples without labels.
std::map<std::string, double> average_traces(const graph::Model& model, const std::vector<std::string>& weights,
                                             const data::Dataset& samples, const TraceOptions& options);

}  // namespace quasar::tune
