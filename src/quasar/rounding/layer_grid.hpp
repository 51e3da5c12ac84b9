// A layer's weights as rows, and the grid that its plan gives them: one scale for all, one per output, or one per block of
// inputs.
#pragma once

#include "quasar/graph/tensor.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/linear_layer.hpp"

namespace quasar::tune {

class LayerGrid {
 public:
  LayerGrid(const LinearLayer& layer, const Tensor& weights, const quant::ConstantPlan& plan);

  size_t block() const { return static_cast<size_t>(params_.block); }  // inputs that share a scale; 0: all of an output's
  size_t blocks() const { return blocks_; }                            // per output
  bool one_scale() const { return params_.scales.size() == 1; }
  const quant::QuantParams& params() const { return params_; }

  float weight(size_t output, size_t input) const { return rows_[output * layer_.inputs + input]; }
  double scale(size_t output, size_t block) const { return scales_[output * blocks_ + block]; }  // as chosen
  int32_t zero_point(size_t output, size_t block) const { return zero_points_[output * blocks_ + block]; }
  // The weight that a code stands for.
  double value(size_t output, size_t input, int32_t code) const;

  // Weights, scales, zero points and codes for `outputs` rows from `output` on, as many inputs from `input` on as the problem
  // has. With blocks, `input` is the first of one.
  void fill(quant::GramProblem& problem, size_t output, size_t outputs, size_t input) const;

  // So many inputs at a time that no pair is cut, about as many as wanted (a pair that lies across two kernel elements is).
  size_t whole_pairs(size_t wanted) const;

  // Multiplies the plan's scales by factors [outputs, blocks]; in single precision, as the model will hold them.
  void shrink(std::span<const double> factors);

  // The codes [outputs, inputs] in the order of the weights, and the scales.
  quant::Optimized finished(const std::vector<int32_t>& codes) const;
  quant::QuantParams finished_params() const;  // those scales alone

 private:
  void limit(quant::GramProblem& problem, size_t input) const;
  size_t place(size_t output, size_t block) const;  // of a scale in the parameters

  const LinearLayer& layer_;
  quant::QuantParams params_;
  quant::CodeLimits limits_;
  Shape shape_;
  size_t blocks_;
  std::vector<float> rows_;           // [outputs, inputs]
  std::vector<double> scales_;        // [outputs, blocks]
  std::vector<int32_t> zero_points_;  // [outputs, blocks]
};

}  // namespace quasar::tune
