// How far two runs of a model lie apart.
#pragma once

#include <functional>
#include <vector>

#include "quasar/graph/tensor.hpp"

namespace quasar::tune {

// 2-norm of the difference of all outputs of one sample together; outputs that are not float32 are left out. Infinite where an
// output differs in size: no value of one then belongs to a value of the other.
double output_distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

// That, or another one.
using Distance = std::function<double(const std::vector<Tensor>&, const std::vector<Tensor>&)>;

}  // namespace quasar::tune
