#include "quasar/rounding/layer_grid.hpp"

#include <algorithm>

namespace quasar::tune {

LayerGrid::LayerGrid(const LinearLayer& layer, const Tensor& weights, const quant::ConstantPlan& plan)
    : layer_(layer),
      params_(plan.params),
      limits_(plan.limits),
      shape_(weights.shape()),
      blocks_(params_.block == 0 ? 1 : (layer.inputs + block() - 1) / block()),
      rows_(as_rows<float>(layer, weights.as<float>())),
      scales_(layer.outputs * blocks_),
      zero_points_(layer.outputs * blocks_) {
  for (size_t o = 0; o < layer.outputs; o++) {
    for (size_t b = 0; b < blocks_; b++) {
      scales_[o * blocks_ + b] = static_cast<double>(params_.scales[place(o, b)]);
      zero_points_[o * blocks_ + b] = params_.zero_points[place(o, b)];
    }
  }
}

size_t LayerGrid::place(size_t output, size_t block) const {
  if (one_scale()) return 0;
  if (params_.block == 0) return output;
  return layer_.columns_first ? block * layer_.outputs + output : output * blocks_ + block;
}

double LayerGrid::value(size_t output, size_t input, int32_t code) const {
  const size_t at = output * blocks_ + (params_.block == 0 ? 0 : input / block());
  return scales_[at] * (code - zero_points_[at]);
}

void LayerGrid::fill(quant::GramProblem& problem, size_t output, size_t outputs, size_t input) const {
  problem.outputs = outputs;
  problem.block = block();
  const quant::Grid codes = quant::grid_of(params_.type, false);  // all that quantize() makes, the lowest one too
  problem.low = static_cast<int32_t>(codes.low);
  problem.high = static_cast<int32_t>(codes.high);
  if (limits_.any()) limit(problem, input);
  const size_t first = block() == 0 ? 0 : input / block(), count = problem.blocks();
  for (size_t o = output; o < output + outputs; o++) {
    const float* const row = rows_.data() + o * layer_.inputs + input;
    problem.weights.insert(problem.weights.end(), row, row + problem.inputs);
    for (size_t b = first; b < first + count; b++) {
      problem.scales.push_back(scale(o, b));
      problem.zero_points.push_back(zero_point(o, b));
    }
  }
}

// Kernels see one group's inputs of an output in a row: a problem on a part of them may cut a pair.
void LayerGrid::limit(quant::GramProblem& problem, size_t input) const {
  problem.low = std::max(problem.low, -limits_.most);
  problem.high = std::min(problem.high, limits_.most);
  if (limits_.pair == 0) return;
  problem.pair = limits_.pair;
  const size_t taps = layer_.taps();
  for (size_t j = input; j < input + problem.inputs; j++) {
    const auto partner = ops::partner_of(j, layer_.inputs / taps, taps, limits_.order.padded);
    const bool here = partner && *partner >= input && *partner < input + problem.inputs;
    problem.partners.push_back(!partner ? quant::GramProblem::alone
                               : here   ? static_cast<uint32_t>(*partner - input)
                                        : quant::GramProblem::apart);
  }
}

size_t LayerGrid::whole_pairs(size_t wanted) const {
  const size_t unit = 2 * layer_.taps();
  return limits_.pair == 0 ? wanted : std::max(wanted / unit, size_t{1}) * unit;
}

void LayerGrid::shrink(std::span<const double> factors) {
  for (size_t o = 0; o < layer_.outputs; o++) {
    for (size_t b = 0; b < blocks_; b++) {
      const double scale = static_cast<double>(params_.scales[place(o, b)]) * factors[o * blocks_ + b];
      scales_[o * blocks_ + b] = static_cast<double>(static_cast<float>(scale));
    }
  }
}

quant::QuantParams LayerGrid::finished_params() const {
  quant::QuantParams params = params_;
  for (size_t o = 0; o < layer_.outputs; o++) {
    for (size_t b = 0; b < blocks_; b++) params.scales[place(o, b)] = static_cast<float>(scale(o, b));
  }
  return params;
}

quant::Optimized LayerGrid::finished(const std::vector<int32_t>& codes) const {
  return {finished_params(), quant::codes_tensor(params_.type, shape_, as_stored<int32_t>(layer_, codes))};
}

}  // namespace quasar::tune
