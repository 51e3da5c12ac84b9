// What operators are ranked by where a model's outputs cannot be compared: their number may depend on the data.
#pragma once

#include <span>
#include <vector>

#include "quasar/tune/unit_errors.hpp"

namespace quasar::tune {

// Whether every unit's output_error is a number.
bool outputs_compare(std::span<const UnitError> units);

// The noise at each unit's own output instead, the most first, where outputs do not compare; the order stays otherwise. ->
// whether they do
bool ranked_locally_if_need_be(std::vector<UnitError>& units);

// The nodes by what their quantization alone does to the outputs (or at their own), the least first; those of which that is not
// known come last.
std::vector<std::string> by_least_harm(std::vector<UnitError> units);

}  // namespace quasar::tune
