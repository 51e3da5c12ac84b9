// All outputs of one sample, one behind the other, as float32.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::eval {

// `output_weights`: {output: factor}. Values of an output are multiplied by its factor (1 where none is given); an output of
// factor 0 is left out.
class OutputWeights {
 public:
  // Throws Error: names that are no output, factors that are no numbers of at least 0, nothing left.
  OutputWeights(const Json& words, const std::vector<graph::Value>& outputs);
  float of(size_t output) const { return factors_.empty() ? 1 : factors_[output]; }
  bool any() const { return !factors_.empty(); }

 private:
  std::vector<float> factors_;  // empty: all 1
};

// Of a batch of `repeats` copies of a sample, the outputs of the first one, [1, …]; outputs without such a first axis as they
// are.
std::vector<Tensor> first_of(std::vector<Tensor> outputs, int64_t repeats);

class Flattened {
 public:
  // Throws Error for an output that holds no numbers. A single float32 output is not copied.
  Flattened(std::vector<Tensor> outputs, const std::vector<graph::Value>& names, const OutputWeights& weights);

  // The place of the greatest value, when there is one output and it is a vector (axes of 1 do not count); −1 otherwise.
  int32_t answer() const;
  std::span<const float> values() const {
    return outputs_.size() == 1 ? outputs_[0].as<float>() : std::span<const float>(joined_);
  }
  std::vector<Shape> shapes() const;

 private:
  std::vector<Tensor> outputs_;
  std::vector<float> joined_;
};

}  // namespace quasar::eval
