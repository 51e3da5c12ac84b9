// How much a change of a layer's output at each position changes the model's outputs.
//
// For outputs z(y) of the model and the value y [positions, outputs] that a layer gives, ‖z(y + e) − z(y)‖² ≈ eᵀ JᵀJ e, J =
// ∂z/∂y. The diagonal of JᵀJ is the mean of (Jᵀv)² over vectors v of +1 and −1 (Bekas, Kokiopoulou and Saad 2007, "An estimator
// for the diagonal of a matrix"); a position counts by its mean over the outputs: one group of GuidedQuant's (Kim et al. 2025,
// "GuidedQuant: Large Language Model Quantization via Exploiting End Loss Guidance", section 3).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/rounding/linear_layer.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {

class EndLoss {
 public:
  // Throws Error with ONNX Runtime's message where the reverse pass cannot be run.
  EndLoss(const graph::Model& model, const std::vector<LinearLayer>& layers);

  // By layer: the weight of every position of its output for a sample, as choose_positions() numbers them; empty: the layer has
  // none. `seed`: of the vector v, one for each sample. May be called from several threads.
  std::vector<std::vector<float>> at(const data::Sample& sample, uint64_t seed) const;

  // Operator types without gradient, and how many nodes of each keep layers before them from weights.
  const std::map<std::string, size_t>& missing() const { return missing_; }
  size_t layers_without() const;

 private:
  std::map<std::string, size_t> missing_;
  std::vector<ptrdiff_t> places_;  // layer -> output of the session, −1: none
  std::unique_ptr<runtime::Session> session_;
};

// Weights of a layer's positions in all samples, from those that a normalization behind it asks for (empty: all the same) and
// those of the end loss: n · (e / n)^strength, with the same sum as before, so that layers which share weights keep their shares.
// Nothing changes where e is zero everywhere, or not finite.
void guide(std::vector<std::vector<float>>& weights, const std::vector<std::vector<float>>& end_loss, double strength);

}  // namespace quasar::tune
