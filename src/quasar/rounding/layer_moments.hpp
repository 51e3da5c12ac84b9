// Second moments of a layer's inputs and outputs, summed over samples in a stream: what its rounding problem is made of.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "quasar/quant/codes/rounding.hpp"
#include "quasar/rounding/float_targets.hpp"
#include "quasar/rounding/linear_layer.hpp"

namespace quasar::tune {

// Sums over columns (positions of samples), each times its weight.
struct Moments {
  std::vector<double> gram;              // Σ x̂x̂ᵀ per group [groups, inputs, inputs]; rows i hold the columns up to i
  std::vector<double> cross;             // Σ y x̂ᵀ [outputs, inputs]
  std::vector<double> inputs;            // Σ x̂ [groups · inputs]
  std::vector<double> outputs, squares;  // Σ y, Σ y² [outputs]
  size_t columns = 0;
  double weight = 0;  // of all columns; as many where all count the same

  explicit Moments(const LinearLayer& layer);
  void add(const Moments& other);
};

size_t bytes_of(const Moments& moments);

// A sum of weights to divide by: 1 where nothing was seen.
inline double positive(double weight) {
  return weight > 0 ? weight : 1;
}

// The columns of the samples with these numbers: fill(sample, to, stride) writes a sample's inputs [groups · inputs, positions].
// At most 32 MiB of columns (one sample's, when that is more) are held at a time. Does not depend on the number of threads.
Moments moments_of(const LinearLayer& layer, std::span<const size_t> samples, const std::vector<Target>& targets,
                   const std::function<void(size_t sample, float* to, size_t stride)>& fill, size_t threads);

// The problem of one group, but for grid and damping. With an empty `bias`, means are removed (the bias will absorb them);
// otherwise the bias [outputs] stays as it is and is taken off the outputs.
quant::GramProblem problem_of(const LinearLayer& layer, const Moments& moments, size_t group, std::span<const double> bias);

}  // namespace quasar::tune
