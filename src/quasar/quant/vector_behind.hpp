// A matrix product's bias in all but name: the vector that a quantized sum behind it adds in float.
#pragma once

#include <optional>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

struct VectorBehind {
  std::string node;  // the Add
  size_t input = 0;  // of it
  Tensor values;     // [outputs], or with as many axes as the product has; as the plan has them
};

// nullopt where anything else reads the product, the sum is not quantized, or its constant has codes of its own.
std::optional<VectorBehind> vector_behind(const graph::Node& product, size_t outputs, const graph::Index& index,
                                          const Plan& plan);

}  // namespace quasar::quant
