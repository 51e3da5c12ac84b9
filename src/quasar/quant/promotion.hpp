// Which layers automatic mixed precision promotes to a wider type.
//
// A layer's sensitivity is the noise-to-signal ratio of its output that a wider type takes away, from statistics alone:
//   weights   mean over output channels of ‖W_o − Ŵ_o‖² / ‖W_o‖²      (inputs taken as uncorrelated)
//   output    Δ²/12 / E[y²], Δ the output's scale
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/config/mixed_precision.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

struct Sensitivity {
  std::string node;
  double weights = 0, output = 0;
  double total() const { return weights + output; }
};

// Of the quantized layers with weights, the most sensitive first.
std::vector<Sensitivity> sensitivities(const graph::Model& model, const stats::Statistics& seen, const Plan& plan);

// The layers to promote, the most sensitive first. `plan`: of the configuration without promotion.
std::vector<std::string> promoted_layers(const graph::Model& model, const stats::Statistics& seen, const Plan& plan,
                                         const MixedPrecision& mixed);

}  // namespace quasar::quant
