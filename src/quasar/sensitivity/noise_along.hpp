// How far a quantized model is from the float model at every value on the way, as ONNX Runtime really runs both.
#pragma once

#include <map>
#include <string>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

struct NoiseAlong {
  std::map<std::string, double> nodes;  // planned or skipped node -> Σ‖y − ŷ‖² / Σ‖y‖² of its result over all samples
  double distance = 0;                  // mean over samples of ‖f − q‖₂ of the model's float outputs
  double length = 0;                    // mean over samples of ‖f‖₂
};

// `model`: the float graph that `plan` is for; `quantized`: what the plan made of it. A node's result is read where its kernel
// hands it out: behind the pair, and behind activations that the kernel absorbs. Values whose name the quantized model has lost
// are left out. Throws Error with ONNX Runtime's message when a model does not run.
NoiseAlong noise_along(const graph::Model& model, const graph::Model& quantized, const quant::Plan& plan,
                       const data::Dataset& samples, size_t threads = 0);

}  // namespace quasar::tune
