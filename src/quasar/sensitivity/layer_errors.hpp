// Which layers of a finished model hurt: measured on a few samples, for reports.
#pragma once

#include <map>
#include <string>

#include "quasar/data/dataset.hpp"
#include "quasar/sensitivity/toggled_model.hpp"

namespace quasar::tune {

struct Finished {
  const graph::Model& model;  // the float graph of the plan
  const quant::Plan& plan;
  const graph::Model& quantized;  // as it was written
  size_t memory_limit = ToggledModel::most_kept_bytes;
};

// What is known of layers, by node.
struct LayerErrors {
  // Σ‖y − ŷ‖² / Σ‖y‖² of the layer's result in the quantized model as ONNX Runtime runs it, on 8 samples.
  std::map<std::string, double> accumulated_noise = {};
  // Mean of ‖f − q‖₂ at the model's outputs when this layer alone is quantized (simulated), where weights are rounded to the
  // nearest codes; on 1 to 16 samples, so many that it costs half of scoring a trial; more than 256 operators: estimated
  // (unit_errors.hpp).
  std::map<std::string, double> output_error = {};
};

// Whether what is measured of a model is measured one after the other: ONNX Runtime takes hundreds of megabytes for each model
// of thousands of nodes that it opens.
bool one_at_a_time(const graph::Model& model);

// Ends early, with nothing, when the calling thread's work is cancelled.
LayerErrors measure_errors(const Finished& finished, const data::Dataset& samples);

}  // namespace quasar::tune
