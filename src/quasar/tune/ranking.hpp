// The order in which strategy `repair` gives operators up.
#pragma once

#include <set>

#include "quasar/tune/unit_errors.hpp"

namespace quasar::tune {

// Those of `nodes` that the plan quantizes, by the squared error that each causes alone at the model's outputs (which add up
// where errors are independent) per share of the work. Operators whose error is not known come last.
std::vector<UnitError> by_gain(const graph::Model& model, const quant::Plan& plan, const std::set<std::string>& nodes,
                               const data::Dataset& samples);

}  // namespace quasar::tune
