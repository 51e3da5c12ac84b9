// Values that hold an attention mask by the graph, whatever calibration saw of them: without a padded sample a mask is zero
// everywhere, and a scale that fits zeros loses it.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// What Softmax reads of a sum (Add, Sub, Where) with a mask, the mask itself and the steps that make it. A mask is what is made
// of constants and inputs, without weighted sums between, and holds a number of 1000 and more: (1 − mask) · −10⁴ and its kin. A
// constant that is added as it is counts from −5000 down and with two axes (else it is a bias).
std::set<std::string> mask_values(const graph::Index& index);

// Whether a constant holds numbers of 10³⁰ and more, infinite ones or NaN: the ends of its grid would not be finite.
bool holds_absurd_numbers(const Tensor& constant);

}  // namespace quasar::quant
