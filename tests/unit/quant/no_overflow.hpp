// Models whose sums overflow on no processor.
#pragma once

#include <cmath>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Processors without VNNI add two neighbouring products of a sum in 16 bits, which two large weights of one sign can overflow.
// Here the signs of neighbours differ: for tests of what models look like and how they run, whatever the target does about
// overflow.
inline graph::Model without_overflow(graph::Model model) {
  for (const auto& node : model.nodes) {
    const bool conv = node.is("Conv"), rows = node.is("Gemm") && node.integer("transB", 0) != 0;
    if (!conv && !node.is("Gemm") && !node.is("MatMul")) continue;
    const auto found = model.initializers.find(node.inputs[1]);
    if (found == model.initializers.end() || found->second.shape().size() < 2) continue;
    const Shape& shape = found->second.shape();
    // Of Conv [outputs, channels, kernel …] the kernel's elements stand next to each other in memory, and channels in a kernel's
    // sums.
    size_t within = 1;
    for (size_t axis = conv ? 2 : shape.size() - 1; axis < shape.size(); axis++) within *= static_cast<size_t>(shape[axis]);
    const auto terms = static_cast<size_t>(conv ? shape[1] : shape[shape.size() - 2]);
    std::vector<float> values(found->second.as<float>().begin(), found->second.as<float>().end());
    for (size_t i = 0; i < values.size(); i++) {
      const size_t place = i % within, term = i / within % terms;
      const bool odd = (conv ? place + term : rows ? place : term) % 2 != 0;
      values[i] = odd ? -std::abs(values[i]) : std::abs(values[i]);
    }
    found->second = Tensor::of(shape, values);
  }
  return model;
}

}  // namespace quasar::quant
