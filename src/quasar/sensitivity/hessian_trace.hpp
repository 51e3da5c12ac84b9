// How curved a loss is in the weights of each layer, without derivatives.
//
// Hutchinson's estimator (1990) of the trace of the Hessian H_l of layer l's weights, E[vᵀ H_l v] over vectors v of random signs,
// with
//   vᵀ H v ≈ (L(W + εv) − 2 L(W) + L(W − εv)) / ε²,   ε = step · rms(W_l)
// from forward runs only. The loss is computed from the model's float outputs (output_loss.hpp).
// HAWQ-V2 (Dong et al. 2020): a layer matters by its average trace times the size of the perturbation, tr(H_l)/n_l · ‖W_l −
// Ŵ_l‖².
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/sensitivity/output_loss.hpp"

namespace quasar::tune {

struct TraceOptions {
  std::string loss = "mse";       // a name in losses/
  Json output_weights = nullptr;  // {output: factor}
  size_t probes = 4;              // random directions per layer
  double step = 0.02;             // ε as a share of the weights' root mean square
  uint64_t seed = 0;
  size_t threads = 0;
};

// Trace divided by the number of weights, for each of these initializers, by name. Throws TraceFailed, which names
// the loss where it is to blame, and Error for an unknown one.
std::map<std::string, double> average_traces(const graph::Model& model, const std::vector<std::string>& weights,
                                             const data::Dataset& samples, const TraceOptions& options);

// ‖W − Ŵ‖²: the size of the perturbation that the plan's codes make of these weights.
double perturbation(const Tensor& weights, const quant::ConstantPlan& plan);

}  // namespace quasar::tune
