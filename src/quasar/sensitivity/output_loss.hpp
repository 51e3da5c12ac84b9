// A loss over the outputs of a model: of each float output, times its factor in output_weights, in sum.
//
// Outputs that are not float (labels, indices) have no loss, nor do those of factor 0. A loss against labels is that of one
// output: where several count, of the one whose values are a vector.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/sensitivity/loss.hpp"

namespace quasar::tune {

// The loss cannot be computed: it failed, gave no finite number, needs labels on samples without, or has no output to look at.
struct TraceFailed : Error {
  explicit TraceFailed(const std::string& why) : Error(why) {}
};

class OutputLoss {
 public:
  struct Options {
    std::string loss;     // a name in losses/
    Json output_weights;  // {output: factor}; null: all 1
  };
  // Throws TraceFailed, which names the loss, and Error for an unknown one and for weights that do not fit the outputs.
  OutputLoss(const Options& options, const std::vector<graph::Value>& outputs, const data::Dataset& samples);

  // The outputs that count.
  const std::vector<std::string>& outputs() const { return names_; }
  // Of a sample, from those outputs, and the float model's. Throws TraceFailed. Thread-safe.
  double of(size_t sample, const std::vector<Tensor>& outputs, const std::vector<Tensor>& references) const;

 private:
  std::vector<size_t> looked_at(const std::vector<Tensor>& references) const;
  double of_one(size_t sample, size_t output, const Tensor& values, const Tensor& reference) const;

  std::string name_;  // for messages
  std::unique_ptr<Loss> loss_;
  const data::Dataset& samples_;
  std::vector<std::string> names_;
  std::vector<double> factors_;
};

}  // namespace quasar::tune
