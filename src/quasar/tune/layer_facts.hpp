// What a report shows of a quantized model: every operator with its precision, and the distributions behind the worst of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/sensitivity/layer_errors.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

struct QuantizedFacts {
  const graph::Model& model;  // the float model
  const quant::Plan& plan;
  const stats::Statistics& seen;
  const std::map<std::string, bool>& runs;  // node -> runs in integer kernels
  const Json& rounding;                     // a trial's "rounding" (to_json of a RoundingReport), or null
  std::string library = "ONNX Runtime";     // whose kernels they are, in words; "plan": as planned
};

// An operator that could be quantized. What is not known is left out.
struct LayerFacts {
  // Of the layer's output, in units of its variance: with rounding to nearest, with optimized rounding, and with rounding
  // optimized for this layer alone. Not set: the output does not vary, or it was not measured.
  struct Rounding {
    std::optional<double> before, after, alone;
  };
  std::string node, type;
  bool integer = false;                     // it runs in integer kernels
  std::string why = {};                     // why it does not
  std::string activation = {};              // "uint8"; "": not quantized
  std::string weight = {};                  // "int8 per channel"; "": none
  std::optional<double> weight_error = {};  // mean squared error of the nearest codes over the weights' mean square
  std::optional<Rounding> error = {};       // where rounding was optimized
  std::optional<double> accumulated_noise = {}, output_error = {};  // LayerErrors

  // How much it loses: what is known best of it.
  double loss() const;
};

// In graph order.
std::vector<LayerFacts> layers_of(const QuantizedFacts& facts, const LayerErrors& errors);
Json to_json(const std::vector<LayerFacts>& layers);

// The nodes of the layers with weights that lose most.
constexpr size_t most_ranges = 6;
std::vector<std::string> worst_of(const std::vector<LayerFacts>& layers, size_t count = most_ranges);

// The values of a tensor, and which of them its codes express.
struct Distribution {
  std::string type;
  double low = 0, high = 0;
  std::vector<uint64_t> counts;    // between low and high; empty: there is nothing to show
  double least = 0, greatest = 0;  // that the codes express
  double clipped = 0;              // share of values outside
  std::string name = {};           // of the tensor; "": the node's weights
};

struct LayerRanges {
  std::string node, type;
  std::optional<Distribution> activation = {}, weight = {};
};

std::vector<LayerRanges> ranges_of(const QuantizedFacts& facts, const std::vector<std::string>& nodes);
Json to_json(const std::vector<LayerRanges>& ranges);

}  // namespace quasar::tune
