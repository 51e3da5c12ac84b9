// A quantized model that is scored without the float model: what compares with float compares it with itself.
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

// Of these metrics those that say nothing of a quantized model which is its own reference; none where it is not quantized.
std::vector<std::string> blind_without_reference(const graph::Model& model, const std::vector<std::string>& metrics);

// The same in a sentence; "": there are none.
std::string comparison_with_itself(const std::vector<std::string>& blind);

}  // namespace quasar::tune
