// The orders in which strategies give operators up: by what each one's quantization does to the model's outputs; or, where these
// cannot be compared since their number depends on the data, to the operator's own.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "quasar/sensitivity/unit_errors.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::tune {

// Strategy `repair`: those of `nodes` that are quantized at this point, by the squared error that each causes alone at the
// model's outputs, every part of them in units of its size (which add up where errors are independent) per share of the work.
// Operators whose error is not known come last. `sharer`: with whom the samples are shared.
std::vector<UnitError> by_gain(const TrialContext& context, const search::Point& point, const std::set<std::string>& nodes,
                               const data::Dataset& samples, const Sharer& sharer = {});

// Whether every unit's output_error is a number.
bool outputs_compare(std::span<const UnitError> units);

// The noise at each unit's own output instead, the most first, where outputs do not compare; the order stays otherwise. ->
// whether they do
bool ranked_locally_if_need_be(std::vector<UnitError>& units);

// The nodes by what their quantization alone does to the outputs (or at their own), the least first; those of which that is not
// known come last.
std::vector<std::string> by_least_harm(std::vector<UnitError> units);

}  // namespace quasar::tune
