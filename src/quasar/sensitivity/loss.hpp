// Losses whose curvature hawq_v2 looks at: one file each in losses/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar::tune {

class Loss {
 public:
  virtual ~Loss() = default;
  virtual bool needs_labels() const { return false; }
  // False: of() is called with an output and a reference of one shape only.
  virtual bool takes_any_size() const { return false; }
  // Of one sample and one of the model's outputs, as float32: with its weights moved, the float model's, and the sample's label
  // where the data has them (always, when it needs them). Called from several threads.
  virtual double of(const Tensor& output, const Tensor& reference, std::optional<int64_t> label) const = 0;
};

// Outputs as probabilities: softmax is applied to those that are none.
std::vector<double> probabilities(std::span<const float> values);

// The probability, or the least that a logarithm bears.
double at_least_tiny(double probability);

}  // namespace quasar::tune

namespace quasar::tune::losses {
const Table<Loss>& table();
}
