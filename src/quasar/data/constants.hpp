// Inputs of a model that are the same for every sample, such as the size of the picture that some detectors ask for.
#pragma once

#include "quasar/data/dataset.hpp"

namespace quasar::data {

// `constants`: {input: number or nested list}; null: none.
class Constants {
 public:
  // Throws Error: names that are no input, values that do not fit the input's type and shape, no input left.
  Constants(const Json& words, const std::vector<graph::Value>& inputs);

  bool any() const { return !values_.empty(); }
  std::vector<graph::Value> others() const;  // the inputs that samples must feed, in their order
  // Samples that feed the others, with the constants between them.
  DatasetPtr join(DatasetPtr samples) const;

 private:
  std::vector<graph::Value> inputs_;
  std::vector<std::pair<size_t, Tensor>> values_;  // place among the inputs
};

}  // namespace quasar::data
