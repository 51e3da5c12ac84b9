// Axes in another order.
#pragma once

#include <vector>

#include "quasar/graph/tensor.hpp"

namespace quasar::data {

// numpy.transpose: axis i of the result is axis order[i] of the tensor. Types of at least a byte.
Tensor permuted(const Tensor& tensor, const std::vector<size_t>& order);

}  // namespace quasar::data
